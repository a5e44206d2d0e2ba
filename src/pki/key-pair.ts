import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, type webcrypto } from 'node:crypto'

const ecdsaP256 = { name: 'ECDSA', namedCurve: 'P-256' } as const

/** Creates an ECDSA P-256 key as PKCS #8 PEM. */
export function generateKeyPem(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: ecdsaP256.namedCurve })
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}

export function isP256(key: KeyObject): boolean {
  return key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1'
}

/** Converts a PEM key to the pair of CryptoKeys that the certificate library takes. */
export function toCryptoKeys(keyPem: string): { privateKey: webcrypto.CryptoKey; publicKey: webcrypto.CryptoKey } {
  const key = createPrivateKey(keyPem)
  return {
    privateKey: key.toCryptoKey(ecdsaP256, false, ['sign']),
    publicKey: createPublicKey(key).toCryptoKey(ecdsaP256, true, ['verify']),
  }
}
