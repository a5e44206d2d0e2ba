import type { Json } from '../../model/api-object.ts'
import { type ApiDocument, isJsonObject, objectAt, textAt } from '../document.ts'

/** Indexes which claim has which PersistentVolume, and which Secrets the volume needs. A node may read those of its pods. */
export class ClaimedVolumes {
  readonly #volumes = new Map<string, { readonly claim: string; readonly secrets: ReadonlySet<string> }>()

  /** Records a volume by its name; undefined means deleted. A claim is `namespace/name`. */
  set(name: string, volume: ApiDocument | undefined): void {
    const claim = volume === undefined ? {} : objectAt(volume['spec'], 'claimRef')
    if (volume === undefined || textAt(claim, 'name') === '') this.#volumes.delete(name)
    else {
      const namespace = textAt(claim, 'namespace')
      const secrets = new Set(secretsOf(objectAt(volume['spec']), namespace))
      this.#volumes.set(name, { claim: `${namespace}/${textAt(claim, 'name')}`, secrets })
    }
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
function secretsOf(spec: Json, claimNamespace: string): readonly string[] {
  const sources = Object.values(objectAt(spec)).filter(isJsonObject)
  const azure = sources.flatMap((source) => {
    const name = textAt(source, 'secretName')
    return name === '' ? [] : [`${textAt(source, 'secretNamespace') || claimNamespace}/${name}`]
  })
  const references = sources.flatMap((source) =>
    Object.entries(source).flatMap(([field, value]) => (/secretRef$/i.test(field) ? [value ?? null] : [])),
  )
  const named = references.filter((each) => textAt(each, 'name') !== '')
  return [...azure, ...named.map((each) => `${textAt(each, 'namespace') || claimNamespace}/${textAt(each, 'name')}`)]
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
