package kube

// PauseProgram is pauseProgram.
var PauseProgram = pauseProgram
