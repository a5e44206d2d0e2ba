export type { NodeFacts, NodeNetwork } from './plan.ts'
export { NodeRegistration } from './registration.ts'
