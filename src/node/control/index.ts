export { type ControlParts, createControlSocket } from './control-socket.ts'
