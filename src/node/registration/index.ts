export type { NodeFacts } from './plan.ts'
export { NodeRegistration } from './registration.ts'
