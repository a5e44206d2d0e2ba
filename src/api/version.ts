import { readBuildInfo } from '../observe/index.ts'

/** The content of `/version`: the Kubernetes version whose API this server follows. */
export const versionInfo = {
  major: '1',
  minor: '32',
  gitVersion: 'v1.32.0+platnet',
  gitCommit: readBuildInfo().commit ?? '',
  gitTreeState: 'clean',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: '',
  compiler: '',
  platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
} as const
