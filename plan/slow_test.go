package plan
import ("testing";"strings";"time";"fmt";"os";"path/filepath";"strconv")
func TestSlow(t *testing.T){
 for _,p:=range []string{"a\n","- a\n","a: b\n","[","{","a,","- "," \t","\"","'", "|\n","#\n","a:\n", "x: [a,b]\n", "&a *a ","x","[],","{a: b},","- a: b\n  c: d\n", "a"+strings.Repeat(" ",50)+"\n","\\","\"\\x","\r","\u00e9"," ","\n"," \n","a b ","'a\n","x: |\n  a\n\n","  a\n",":"," :","?","%","!","- \n"}{
 for _,pre:=range []string{"","networks: [","networks: \"","networks: |\n  ","networks: >\n  ","about: "}{
 for _,n:=range []int{1<<20, 20000}{
  s:=pre+strings.Repeat(p,n/len(p))
  if n==20000 {s=pre+strings.Repeat(p,9000)}
  t0:=time.Now(); _,e:=Load("x",strings.NewReader(s)); d:=time.Since(t0)
  es:=fmt.Sprint(e); if len(es)>90{es=es[:90]}
  if d>300*time.Millisecond {fmt.Printf("%q %q %d %v %q\n",pre,p,n,d,es)}
 }}}
 c:=os.Getenv("FC")
 fs,_:=filepath.Glob(c+"/nettoll/plan/FuzzLoad/*")
 fmt.Println(len(fs))
 for _,f:=range fs{ b,_:=os.ReadFile(f); l:=strings.Split(string(b),"\n"); if len(l)<2{continue}
  q:=strings.TrimSuffix(strings.TrimPrefix(l[1],"[]byte("),")"); s,_:=strconv.Unquote(q)
  t0:=time.Now(); su,e:=Load("x",strings.NewReader(s)); if e==nil{Expand(su,drivers())}; if d:=time.Since(t0);d>50*time.Millisecond{fmt.Println(d,q)}}
}
