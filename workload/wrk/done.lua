-- wrk rounds the figures that it prints to three digits. It runs this function when it
-- is done, to print the exact figures: first the summary, then the histogram of
-- latencies as pairs of the distance to the previous latency and the number of occurrences.
function done(summary, latency)
   local e = summary.errors
   io.write(string.format("nettoll summary duration_us=%.0f requests=%.0f bytes=%.0f"
      .. " connect=%.0f read=%.0f write=%.0f status=%.0f timeout=%.0f\n",
      summary.duration, summary.requests, summary.bytes,
      e.connect, e.read, e.write, e.status, e.timeout))
   -- For each latency that is requested, wrk searches its table from the start.
   local budget, last, out = 1e9, 0, {}
   for i = 1, #latency do
      local us, count = latency(i)
      budget = budget - (us - latency.min)
      if budget < 0 then
         out = { " too-many" }
         break
      end
      out[i] = string.format(count == 1 and " %.0f" or " %.0f*%.0f", us - last, count)
      last = us
   end
   io.write("nettoll latency_us", table.concat(out), "\n")
end
