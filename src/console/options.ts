import { declareOptions, flagValue, portNumber } from '../config/index.ts'

export const consoleOptions = declareOptions({
  console: {
    schema: flagValue,
    flag: '--console [boolean]',
    default: true,
    reload: 'restart',
    description: 'Serve the read-only web console on loopback; its code is loaded when a browser asks for it',
  },
  consolePort: {
    schema: portNumber,
    flag: '--console-port <port>',
    default: 10251,
    reload: 'restart',
    commands: ['run', 'agent'],
    description: "The port of the node's console on loopback, over HTTP; the HTTPS port of the agent has it too",
  },
  serverConsolePort: {
    schema: portNumber,
    flag: '--server-console-port <port>',
    default: 10252,
    reload: 'restart',
    description:
      "The port of the cluster's console on loopback, over HTTP; the node's console links to it under platnet run",
  },
})
