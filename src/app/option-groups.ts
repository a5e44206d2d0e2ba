import { apiOptions } from '../api/options.ts'
import { nodeOptions } from '../node/options.ts'
import { observeOptions } from '../observe/index.ts'
import { declareAppOptions } from './options.ts'

/** What each command can run; `run` has the parts of both others. */
const partsOf = {
  server: ['api'],
  agent: ['proxy'],
} as const

/** Every option of the program, by owner. */
export const optionGroups = {
  app: declareAppOptions([...partsOf.server, ...partsOf.agent]),
  api: apiOptions,
  node: nodeOptions,
  observe: observeOptions,
}
