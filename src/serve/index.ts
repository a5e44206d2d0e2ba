export type { AccessRule } from './access.ts'
export { type AgentEndpoints, createAgentEndpoints } from './agent-endpoints.ts'
export {
  httpListener,
  httpsListener,
  type Listener,
  type ListenerOptions,
  type TcpListenerOptions,
  type TlsMaterial,
  unixListener,
} from './listener.ts'
export { createRouter, type GetHandler, type RoutedRequest, type TextAnswer } from './router.ts'
export { ServeError, type ServeErrorCode } from './serve-error.ts'
