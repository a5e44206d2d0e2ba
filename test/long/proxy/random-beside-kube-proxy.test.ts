import { testBesideKubeProxy } from '../../conformance/proxy/compare.ts'

const services = 24
for (const mode of ['iptables', 'nftables'] as const)
  for (const [index, settings] of ['defaults', 'interfaces', 'masquerade-all', 'defaults'].entries())
    testBesideKubeProxy({ settings, mode, random: { seed: index + 1, services } })
