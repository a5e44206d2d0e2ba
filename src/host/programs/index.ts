export { ExecError, isTextBusy } from './exec-error.ts'
export { createFastRun } from './fast-run.ts'
export type { BackgroundOptions, ProgramExit, ProgramResult, Run, RunningProgram, RunOptions } from './options.ts'
export { runProgram } from './run-program.ts'
