import { testNftablesNode } from './nftables-node-cases.ts'

testNftablesNode({ rounds: 1, clients: 300 })
