export { type ControlAnswer, createControlSocket } from './control-socket.ts'
