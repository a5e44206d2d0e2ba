import type { Ip } from '../../model/ip.ts'
import { PolicyQuestion } from '../../node/policy/index.ts'

/** The network policies of the cluster, as `platnet explain` asks them. */
export interface PolicyExplainer {
  readonly nodeName: string
  /** Opens a question: it sees the objects of now. */
  open(): Pick<PolicyQuestion, 'find' | 'nodeOf' | 'behindHostPort' | 'explain'>
  /** The reason why this node does not enforce the policies; undefined if it does. */
  caveat(): string | undefined
}

type QuestionParts = ConstructorParameters<typeof PolicyQuestion>[0]

interface ExplainerParts extends Omit<QuestionParts, 'isOwnAddress' | 'lookup'> {
  readonly caveat: () => string | undefined
  readonly ownAddresses: () => ReadonlySet<Ip>
  /** Undefined until the agent knows its API server. */
  readonly lookup: () => QuestionParts['lookup']
}

export function createPolicyExplainer({ caveat, ownAddresses, lookup, ...parts }: ExplainerParts): PolicyExplainer {
  return {
    nodeName: parts.nodeName,
    caveat,
    open: () => {
      const own = ownAddresses()
      return new PolicyQuestion({ ...parts, isOwnAddress: (address) => own.has(address), lookup: lookup() })
    },
  }
}
