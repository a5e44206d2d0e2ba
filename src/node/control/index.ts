export { createControlSocket } from './control-socket.ts'
