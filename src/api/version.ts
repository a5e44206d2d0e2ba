import { readBuildInfo } from '../observe/index.ts'

/** The content of `/version`: the Kubernetes version whose API this server follows, that of `scripts/generate-kinds.ts`. Charts and programs choose by it. */
export const versionInfo = {
  major: '1',
  minor: '34',
  gitVersion: 'v1.34.4+platnet',
  gitCommit: readBuildInfo().commit ?? '',
  gitTreeState: 'clean',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: '',
  compiler: '',
  platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
} as const
