import { testBesideKubeProxy } from '../../conformance/proxy/compare.ts'

for (const [index, settings] of ['defaults', 'interfaces', 'masquerade-all', 'defaults'].entries())
  testBesideKubeProxy(settings, index + 1)
