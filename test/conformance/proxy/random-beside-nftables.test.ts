import { testBesideKubeProxy } from './compare.ts'

testBesideKubeProxy({ settings: 'defaults', mode: 'nftables', random: { seed: 1, services: 8 } })
