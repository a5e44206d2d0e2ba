import { declareOptions, filePath, filePathList } from '../../config/index.ts'

const commands = ['run', 'agent'] as const

export const cniOptions = declareOptions({
  cniConfDir: {
    schema: filePath,
    flag: '--cni-conf-dir <folder>',
    default: '/etc/cni/net.d',
    reload: 'restart',
    commands,
    description: 'The folder of the CNI configuration: the first usable file in lexical order is used',
  },
  cniBinDir: {
    schema: filePathList,
    flag: '--cni-bin-dir <folders>',
    default: ['/opt/cni/bin', '/usr/lib/cni'],
    reload: 'restart',
    commands,
    description: 'The folders of the CNI plugins; the first one that has a plugin is used',
  },
  cniCacheDir: {
    schema: filePath,
    flag: '--cni-cache-dir <folder>',
    default: '/var/lib/cni',
    reload: 'restart',
    commands,
    description: 'The folder for the results of CNI plugins, in the format of libcni',
  },
})
