import type { JsonObject } from '../../model/api-object.ts'
import { type ApiDocument, isJsonObject, objectAt, textAt } from '../document.ts'

/** Indexes which claim has which PersistentVolume, and which Secrets the volume needs. A node may read those of its pods. */
export class ClaimedVolumes {
  readonly #volumes = new Map<string, { readonly claim: string; readonly secrets: ReadonlySet<string> }>()

  /** Records a volume by its name; undefined means deleted. A claim is `namespace/name`. */
  set(name: string, volume: ApiDocument | undefined): void {
    const spec = objectAt(volume?.['spec'])
    const [namespace, claim] = [textAt(spec, 'claimRef', 'namespace'), textAt(spec, 'claimRef', 'name')]
    if (claim === '') this.#volumes.delete(name)
    else this.#volumes.set(name, { claim: `${namespace}/${claim}`, secrets: new Set(secretsOf(spec, namespace)) })
  }

  claimOf(name: string): string | undefined {
    return this.#volumes.get(name)?.claim
  }

  /** Returns the claims whose volumes need a Secret, which is `namespace/name`. */
  claimsWith(secret: string): Iterable<string> {
    return this.#volumes
      .values()
      .filter(({ secrets }) => secrets.has(secret))
      .map(({ claim }) => claim)
  }
}

/** Returns the Secrets of the source of a volume; a reference without a namespace is to that of the claim. */
function secretsOf(spec: JsonObject, claimNamespace: string): readonly string[] {
  const references = Object.values(spec)
    .filter(isJsonObject)
    .flatMap((source) => [
      // An Azure file names its Secret by two fields of its own.
      { name: source['secretName'], namespace: source['secretNamespace'] },
      ...Object.keys(source)
        .filter((field) => /secretRef$/i.test(field))
        .map((field) => source[field]),
    ])
  return references
    .filter((each) => textAt(each, 'name') !== '')
    .map((each) => `${textAt(each, 'namespace') || claimNamespace}/${textAt(each, 'name')}`)
}

/** Indexes the nodes that volumes are attached to. */
export class AttachedVolumes {
  readonly #nodes = new Map<string, string>()

  set(name: string, attachment: ApiDocument | undefined): void {
    if (attachment === undefined) this.#nodes.delete(name)
    else this.#nodes.set(name, textAt(attachment['spec'], 'nodeName'))
  }

  isAttached(name: string, node: string): boolean {
    return this.#nodes.get(name) === node
  }
}
