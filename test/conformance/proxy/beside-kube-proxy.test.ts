import { testBesideKubeProxy } from './compare.ts'

testBesideKubeProxy({ settings: 'defaults', mode: 'iptables' })
