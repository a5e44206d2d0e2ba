export { NftError } from './nft-error.ts'
export { type NftSession, type NftSessionKind, openNftSession } from './session.ts'
