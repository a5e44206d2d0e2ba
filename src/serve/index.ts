export { type AccessDelegate, type AccessRule, type Guarded, refusal } from './access.ts'
export { createAgentEndpoints, createComponentEndpoints } from './agent-endpoints.ts'
export { certifiedIdentity } from './client-certificate.ts'
export { refuseForeignPage } from './foreign-page.ts'
export {
  httpListener,
  httpsListener,
  type Listener,
  type TcpListenerOptions,
  type TlsMaterial,
  unixListener,
} from './listener.ts'
export { createPodEndpoints } from './pod-endpoints.ts'
export { createRouter, type RoutedRequest, sendAnswer, type TextAnswer } from './router.ts'
export type { Upgraded } from './upgrades.ts'
