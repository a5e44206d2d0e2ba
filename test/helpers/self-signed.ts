import { execFileSync } from 'node:child_process'

const arguments_ =
  'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=test -addext subjectAltName=IP:127.0.0.1 -keyout - -out -'

/** A key and a certificate for 127.0.0.1 that is its own authority. */
export function createSelfSigned(): { key: string; cert: string } {
  const pem = execFileSync('openssl', arguments_.split(' '), { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  const start = pem.indexOf('-----BEGIN CERTIFICATE-----')
  return { key: pem.slice(0, start), cert: pem.slice(start) }
}
