import { testNftablesNode } from './nftables-node-cases.ts'

testNftablesNode({ rounds: 2, clients: 600 })
