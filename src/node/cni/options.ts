import { declareOptions, filePath, filePathList } from '../../config/index.ts'

const commands = ['run', 'agent'] as const

export const cniOptions = declareOptions({
  cniConfDir: {
    schema: filePath,
    flag: '--cni-conf-dir <folder>',
    default: '/etc/cni/net.d',
    reload: 'restart',
    commands,
    description: 'Where the pod networks are configured: the first usable file in lexical order is the one',
  },
  cniBinDir: {
    schema: filePathList,
    flag: '--cni-bin-dir <folders>',
    default: ['/opt/cni/bin', '/usr/lib/cni'],
    reload: 'restart',
    commands,
    description: 'Where the CNI plugins are; the first folder that has a plugin wins',
  },
  cniCacheDir: {
    schema: filePath,
    flag: '--cni-cache-dir <folder>',
    default: '/var/lib/cni',
    reload: 'restart',
    commands,
    description: 'Where it is written down what CNI plugins made, in the format of libcni',
  },
})
