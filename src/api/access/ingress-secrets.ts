import { type ApiDocument, listAt, textAt } from '../document.ts'

/** Indexes the Secrets that Ingresses name for TLS. */
export class IngressSecrets {
  readonly #secrets = new Map<string, ReadonlySet<string>>()
  readonly #users = new Map<string, number>()

  /** Records an Ingress; `path` is `namespace/name`, and undefined means deleted. */
  set(path: string, ingress: ApiDocument | undefined): void {
    for (const secret of this.#secrets.get(path) ?? []) this.#count(secret, -1)
    const secrets = ingress === undefined ? new Set<string>() : secretsOf(ingress)
    for (const secret of secrets) this.#count(secret, 1)
    if (secrets.size === 0) this.#secrets.delete(path)
    else this.#secrets.set(path, secrets)
  }

  /** Checks whether an Ingress of the Secret's namespace names it, for example `default/tls`. */
  isNamed(secret: string): boolean {
    return this.#users.has(secret)
  }

  #count(secret: string, change: 1 | -1): void {
    const users = (this.#users.get(secret) ?? 0) + change
    if (users === 0) this.#users.delete(secret)
    else this.#users.set(secret, users)
  }
}

function secretsOf({ metadata, spec }: ApiDocument): ReadonlySet<string> {
  const names = listAt(spec, 'tls').map((tls) => textAt(tls, 'secretName'))
  return new Set(names.filter((name) => name !== '').map((name) => `${metadata.namespace}/${name}`))
}
