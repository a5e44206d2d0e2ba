export { createAgentEndpoints, createComponentEndpoints } from './agent-endpoints.ts'
export { httpListener, httpsListener, type Listener, type TlsMaterial, unixListener } from './listener.ts'
export { createRouter, type RoutedRequest, type TextAnswer } from './router.ts'
