export { NodeAnnotation } from './node-annotation.ts'
export type { MachineInfo, NodeNetwork } from './plan.ts'
export { NodeRegistration } from './registration.ts'
