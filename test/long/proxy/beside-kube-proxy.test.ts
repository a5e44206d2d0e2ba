import { testBesideKubeProxy } from '../../conformance/proxy/compare.ts'

for (const settings of ['interfaces', 'masquerade-all', 'beside Docker', 'beside firewalld'])
  testBesideKubeProxy({ settings, mode: 'iptables' })
for (const settings of ['defaults', 'interfaces', 'masquerade-all']) testBesideKubeProxy({ settings, mode: 'nftables' })
