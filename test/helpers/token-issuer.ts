import { generateKeyPairSync } from 'node:crypto'
import { createTokenIssuer, type TokenIssuer } from '../../src/api/access/token-issuer.ts'

export const testIssuer = 'https://issuer.example'

export function newSigningKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}

export function newTokenIssuer(): TokenIssuer {
  return createTokenIssuer({ name: testIssuer, keyPem: newSigningKey(), identityClaim: 'kubernetes.io' })
}
