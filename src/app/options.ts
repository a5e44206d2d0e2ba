import { declareOptions, filePath, wordList } from '../config/index.ts'

/**
 * Declares the options of this room; `parts` lists every value that `--components` accepts, `ofAgentAlone` those of an agent that is not part of
 * `platnet run`.
 */
export function declareAppOptions(parts: readonly string[], ofAgentAlone: readonly string[]) {
  return declareOptions({
    config: {
      schema: filePath.optional(),
      flag: '--config <file>',
      notInFile: true,
      reload: 'restart',
      description: 'The YAML file with options; flags and variables override it',
      example: '/etc/platnet/config.yaml',
    },
    dataDir: {
      schema: filePath,
      flag: '--data-dir <folder>',
      default: '/var/lib/platnet',
      reload: 'restart',
      description: 'Where the store, keys and certificates are kept',
    },
    components: {
      schema: wordList(parts),
      flag: '--components <list>',
      default: [...parts],
      defaultOf: { agent: [...ofAgentAlone] },
      reload: 'restart',
      description:
        'The parts that run, of those of the command; pods includes cni (the list of the pod network and its masquerading) and routes (to the pods of other nodes); an agent that is started alone has ingress only where it is named',
    },
  })
}
