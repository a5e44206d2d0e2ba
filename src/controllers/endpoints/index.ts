export { createEndpointsController } from './endpoints-controller.ts'
export { createMirroringController } from './mirroring-controller.ts'
export { createEndpointSliceController } from './slice-controller.ts'
