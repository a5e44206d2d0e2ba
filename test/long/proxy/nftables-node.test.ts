import { testNftablesNode } from '../../kernel/node/proxy/nftables-node-cases.ts'

testNftablesNode({ rounds: 30, clients: 20_000 })
