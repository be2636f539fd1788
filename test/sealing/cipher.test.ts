/** The ciphers of sealed texts. */
import { expect, it } from '@jest/globals'
import fc from 'fast-check'
import { decrypt, encrypt, encryptRepeatably } from '../../src/application/sealing/cipher.js'

it('a text opens with its key and context, and with no other, and not after a change', () => {
  const secret = fc.uint8Array({ minLength: 32, maxLength: 32 })
  const sealing = fc.constantFrom(encrypt, encryptRepeatably)
  fc.assert(
    fc.property(
      secret,
      secret,
      fc.string(),
      fc.string({ unit: 'grapheme' }),
      sealing,
      (own, other, context, written, seal) => {
        const sealed = seal(own, context, written)
        expect(decrypt(own, context, sealed)).toBe(written)
        expect(decrypt(own, `${context}x`, sealed)).toBeUndefined()
        fc.pre(!Buffer.from(own).equals(Buffer.from(other)))
        expect(decrypt(other, context, sealed)).toBeUndefined()
        const bytes = Buffer.from(sealed.text, 'base64')
        bytes[0] = (bytes[0] ?? 0) ^ 1
        expect(decrypt(own, context, { ...sealed, text: bytes.toString('base64') })).toBeUndefined()
        expect(decrypt(own, context, { ...sealed, text: '' })).toBeUndefined()
        expect(decrypt(own, context, { ...sealed, iv: `${sealed.iv}AAAA` })).toBeUndefined()
      },
    ),
  )
})

it('texts and contexts of any length open', () => {
  const key = Buffer.alloc(32, 7)
  for (const length of [0, 1, 1_365, 1_366, 21_845, 21_846, 200_000]) {
    const long = 'ä'.repeat(length)
    expect(decrypt(key, long, encrypt(key, long, long))).toBe(long)
  }
})
