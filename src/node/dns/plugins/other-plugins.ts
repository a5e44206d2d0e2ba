/** Plugins of CoreDNS that change no answer: a Corefile with one of them is served, and the log names its line. */
const withoutEffect: ReadonlySet<string> = new Set(['cancel', 'debug', 'metadata', 'pprof'])

/** Plugins of CoreDNS' default build that change answers, and that this program does not have. */
const missing: ReadonlySet<string> = new Set(
  [
    'acl any auto autopath azure bufsize chaos clouddns dns64 dnssec dnstap erratic etcd file geoip grpc header',
    'k8s_external local minimal multisocket nomad nsid quic root route53 secondary sign timeouts tls trace transfer tsig view whoami',
  ].flatMap((names) => names.split(' ')),
)

export function hasNoEffect(directive: string): boolean {
  return withoutEffect.has(directive)
}

/** Says what to do about a directive that is none of `known`. */
export function adviceFor(directive: string, known: readonly string[]): string {
  if (missing.has(directive))
    return `this plugin of CoreDNS is not part of Platnet: take it out, or have a CoreDNS that is a target of forward answer for it`
  return `expected one of ${known.join(', ')}`
}
