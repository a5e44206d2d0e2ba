/** The characters of JSON by which its parts are found without parsing it; each is one byte of UTF-8 and part of no other character. */
export const quoteByte = 0x22
export const backslash = 0x5c
export const openBrace = 0x7b
export const closeBrace = 0x7d
export const openBracket = 0x5b
export const closeBracket = 0x5d
export const comma = 0x2c
