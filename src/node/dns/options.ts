import { declareOptions, dnsName, dualStackAddresses, filePath, filePathList } from '../../config/index.ts'

const commands = ['run', 'agent'] as const

export const dnsOptions = declareOptions({
  clusterDns: {
    schema: dualStackAddresses,
    flag: '--cluster-dns <ip>',
    default: '10.96.0.10',
    reload: 'restart',
    commands,
    description: "The address of the cluster's DNS, which each node binds and pods query, or one of each family",
    example: '10.96.0.10,fd00:10:96::a',
  },
  clusterDomain: {
    schema: dnsName,
    flag: '--cluster-domain <name>',
    default: 'cluster.local',
    reload: 'restart',
    commands: ['run', 'server', 'agent'],
    description:
      'The zone of the cluster, below which Services and pods have their names; the server names it in the ConfigMap coredns that it creates',
    example: 'cluster.local',
  },
  corefile: {
    schema: filePath.optional(),
    flag: '--corefile <file>',
    reload: 'live',
    commands,
    description:
      'The file that configures DNS; when not set, the ConfigMap coredns in kube-system (a server creates it where there is none), else the built-in one',
    example: '/etc/platnet/Corefile',
  },
  dnsConfigMapFiles: {
    schema: filePathList.optional(),
    flag: '--dns-config-map-files <paths>',
    reload: 'live',
    commands,
    description:
      'Files of the node that a Corefile of the ConfigMap may name beside /etc/resolv.conf as a target of forward; a Corefile of --corefile may name any',
    example: '/etc/hosts,/etc/platnet/upstream.pem',
  },
})
