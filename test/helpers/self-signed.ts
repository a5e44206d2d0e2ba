import { execFileSync } from 'node:child_process'

const arguments_ =
  'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=test -keyout - -out - -addext'

/** A key and a certificate for 127.0.0.1, and further DNS names, that is its own authority. */
export function createSelfSigned(...dnsNames: readonly string[]): { key: string; cert: string } {
  const names = ['IP:127.0.0.1', ...dnsNames.map((name) => `DNS:${name}`)].join(',')
  const pem = execFileSync('openssl', [...arguments_.split(' '), `subjectAltName=${names}`], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const start = pem.indexOf('-----BEGIN CERTIFICATE-----')
  return { key: pem.slice(0, start), cert: pem.slice(start) }
}
