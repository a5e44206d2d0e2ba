export { createAgentEndpoints } from './agent-endpoints.ts'
export { httpListener, httpsListener, type Listener, type TlsMaterial, unixListener } from './listener.ts'
export { createRouter, type GetHandler, type RoutedRequest, type TextAnswer } from './router.ts'
