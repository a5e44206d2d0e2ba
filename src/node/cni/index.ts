export { CniError } from './errors.ts'
export { CniRuntime, type CniSettings } from './runtime.ts'
export type { CniResult, CniSandbox } from './types.ts'
