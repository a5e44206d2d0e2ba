import {
  declareOptions,
  dnsName,
  dualStackCidrs,
  filePath,
  flagValue,
  httpUrlList,
  ipAddress,
  portNumber,
} from '../config/index.ts'

const commands = ['run', 'agent'] as const

export const nodeOptions = declareOptions({
  kubeconfig: {
    schema: filePath.optional(),
    flag: '--kubeconfig <file>',
    reload: 'restart',
    commands,
    description: 'The file that says where the API server is and how to authenticate',
    example: '/var/lib/platnet/admin.kubeconfig',
  },
  server: {
    schema: httpUrlList.optional(),
    flag: '--server <urls>',
    reload: 'restart',
    commands,
    description:
      'The API server, instead of the one the kubeconfig names; with commas several of one cluster: where one does not answer the next is asked',
    example: 'https://192.0.2.1:6443',
  },
  nodeName: {
    schema: dnsName.optional(),
    flag: '--node-name <name>',
    reload: 'restart',
    commands,
    description: 'The name of this node in the API; the host name in lower case when not set',
    example: 'node-1',
  },
  nodeIp: {
    schema: ipAddress.optional(),
    flag: '--node-ip <ip>',
    reload: 'restart',
    commands,
    description: 'The address of this node; detected when not set',
    example: '192.0.2.10',
  },
  port: {
    schema: portNumber,
    flag: '--port <port>',
    env: 'NODEAGENT_PORT',
    default: 10250,
    reload: 'restart',
    commands,
    description: 'The HTTPS port of the node agent: metrics, configuration, health',
  },
  clusterCidr: {
    schema: dualStackCidrs,
    flag: '--cluster-cidr <cidr>',
    default: '10.244.0.0/16',
    reload: 'restart',
    commands: ['run', 'server', 'agent'],
    description:
      'The network of all pods, or one of each family: every node gets a /24 or /64 of it; connections from other sources to the address of a Service are masqueraded',
    example: '10.244.0.0/16,fd00:10:244::/56',
  },
  publicMetrics: {
    schema: flagValue,
    flag: '--public-metrics [boolean]',
    default: false,
    reload: 'live',
    commands: ['run', 'server', 'agent'],
    description: 'Open /metrics and /configz to everyone instead of loopback and users who may read them',
  },
  controlSocket: {
    schema: filePath,
    flag: '--control-socket <path>',
    default: '/run/platnet/agent.sock',
    reload: 'restart',
    commands,
    description: 'The unix socket on which the running agent answers local commands',
  },
})
