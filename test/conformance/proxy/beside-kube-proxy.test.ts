import { testBesideKubeProxy } from './compare.ts'

testBesideKubeProxy('defaults')
