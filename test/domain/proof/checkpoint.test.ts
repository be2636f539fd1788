/** Checkpoints as signed notes: the vectors of the specification, and laws of signatures. */
import { describe, expect, it, test } from '@jest/globals'
import { either as E } from 'fp-ts'
import fc from 'fast-check'
import { createPrivateKey, generateKeyPairSync, sign, type KeyObject } from 'node:crypto'
import {
  bodyOf,
  judgeSignatures,
  noteText,
  parseCheckpoint,
  parseVerifierKey,
  signatureLine,
  verifierKeyOf,
  type SignedCheckpoint,
} from '../../../src/domain/proof/checkpoint.js'

const { privateKey: key } = generateKeyPairSync('ed25519')
const { privateKey: second } = generateKeyPairSync('ed25519')
const NAME = 'context-ledger/ab12'
const ROOT = Buffer.alloc(32, 7).toString('base64')

function parse(text: string): SignedCheckpoint {
  const parsed = parseCheckpoint(text)
  if (E.isLeft(parsed)) throw new Error(parsed.left)
  return parsed.right
}

const signed = (size: number, ...keys: readonly KeyObject[]): string => {
  const body = bodyOf({ origin: NAME, size, root: ROOT })
  return noteText(
    body,
    keys.map((each) => signatureLine(NAME, each, body)),
  )
}

/** A cosignature line of a witness. */
function cosignature(name: string, witness: KeyObject, body: string, time: number): string {
  const { keyId } = verifierKeyOf(name, witness, 'cosignature')
  const stamp = Buffer.alloc(8)
  stamp.writeBigUInt64BE(BigInt(time))
  const signature = sign(null, Buffer.from(`cosignature/v1\ntime ${String(time)}\n${body}`), witness)
  return `— ${name} ${Buffer.concat([Buffer.from(keyId, 'hex'), stamp, signature]).toString('base64')}`
}

test('the key of RFC 8032 has the verifier key and the signature that the specifications give', () => {
  // RFC 8032, section 7.1, test 1: secret key, public key, and the signature of the empty message.
  const secret = '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60'
  const known = createPrivateKey({
    key: Buffer.from(`302e020100300506032b657004220420${secret}`, 'hex'),
    format: 'der',
    type: 'pkcs8',
  })
  const { text } = verifierKeyOf('example.com/log', known)
  expect(Buffer.from(text.split('+').slice(2).join('+'), 'base64').toString('hex')).toBe(
    '01d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
  )
  expect(sign(null, Buffer.alloc(0), known).toString('hex')).toBe(
    'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
  )
})

test('the example of the specification is read with all its lines', () => {
  const example = `example.com/behind-the-sofa
20852163
CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=
— witness.example.com/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==
`
  const note = parse(example)
  expect(note).toMatchObject({ origin: 'example.com/behind-the-sofa', size: 20_852_163 })
  expect(note.signatures.map(({ name, keyId }) => [name, keyId])).toEqual([
    ['example.com/behind-the-sofa', '033de0ae'],
    ['witness.example.com/w1', '8d66cf3f'],
  ])
  expect(judgeSignatures(note, []).unknown).toHaveLength(2)
})

describe('signatures', () => {
  it('of two keys are both valid, and each alone is known by its key only', () => {
    const note = parse(signed(5, key, second))
    const [one, two] = [verifierKeyOf(NAME, key), verifierKeyOf(NAME, second)]
    expect(judgeSignatures(note, [one, two])).toMatchObject({ valid: [{}, {}], invalid: [], unknown: [] })
    expect(judgeSignatures(note, [two])).toMatchObject({ valid: [{ keyId: two.keyId }], unknown: [NAME] })
  })

  it('of a witness state a time, and are verified with the key of the witness', () => {
    const { privateKey: witness } = generateKeyPairSync('ed25519')
    const note = signed(9, key)
    const { body } = parse(note)
    const both = parse(`${note}${cosignature('witness.example/w', witness, body, 1_760_000_000)}\n`)
    const known = verifierKeyOf('witness.example/w', witness, 'cosignature')
    expect(judgeSignatures(both, [known, verifierKeyOf(NAME, key)]).valid).toEqual([
      { name: NAME, keyId: verifierKeyOf(NAME, key).keyId },
      { name: 'witness.example/w', keyId: known.keyId, time: 1_760_000_000 },
    ])
    // The same key as a key of the log is another key.
    expect(judgeSignatures(both, [verifierKeyOf('witness.example/w', witness)]).valid).toEqual([])
  })

  it('do not match after any change of the note', () => {
    const bytes = Buffer.from(signed(1_234, key))
    const known = [verifierKeyOf(NAME, key)]
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.nat(7), (at, bit) => {
        const changed = Buffer.from(bytes)
        changed[at] = (changed[at] ?? 0) ^ (1 << bit)
        const parsed = parseCheckpoint(changed.toString('utf8'))
        expect(E.isLeft(parsed) || judgeSignatures(parsed.right, known).valid.length === 0).toBe(true)
      }),
      { numRuns: 500 },
    )
  })

  it('and keys are written and read again', () => {
    fc.assert(
      fc.property(
        fc.nat({ max: Number.MAX_SAFE_INTEGER }),
        fc.uint8Array({ minLength: 32, maxLength: 32 }),
        (n, root) => {
          const size = n % 1e14
          const body = bodyOf({ origin: NAME, size, root: Buffer.from(root).toString('base64') })
          const note = parse(noteText(body, [signatureLine(NAME, key, body)]))
          expect(note).toMatchObject({ origin: NAME, size, root: Buffer.from(root).toString('base64'), body })
          expect(
            noteText(
              note.body,
              note.signatures.map(({ line }) => line),
            ),
          ).toBe(noteText(body, [signatureLine(NAME, key, body)]))
        },
      ),
    )
    for (const kind of ['note', 'cosignature'] as const) {
      const known = verifierKeyOf('w.example/1', second, kind)
      expect(E.map(({ text }: { readonly text: string }) => text)(parseVerifierKey(known.text))).toEqual(
        E.right(known.text),
      )
    }
  })
})

it.each([
  ['', 'is no signed note'],
  ['a\n1\n', 'is no signed note'],
  [`a\n01\n${ROOT}\n\n— a AAAAAAA=\n`, 'has no size'],
  [`a\n-1\n${ROOT}\n\n— a AAAAAAA=\n`, 'has no size'],
  [`a\n1\nAAAA\n\n— a AAAAAAA=\n`, 'has no root'],
  [`a\n1\n${ROOT}\n\n- a AAAAAAA=\n`, 'has a line that is no signature'],
  [`a\n1\n${ROOT}\n\n— a AAAA\n`, 'has a line that is no signature'],
  [`a\n1\n${ROOT}\t\n\n— a AAAAAAA=\n`, 'has a control character'],
])('refuses %j', (text, reason) => {
  const parsed = parseCheckpoint(text)
  expect(E.isLeft(parsed) ? parsed.left : '').toContain(reason)
})

it.each([
  ['', 'is no verifier key'],
  ['a+00000000+AQ==', 'has a key that is neither'],
  [verifierKeyOf('a', key).text.replace(/\+[0-9a-f]{8}\+/u, '+00000000+'), 'has the key id 00000000'],
])('refuses the verifier key %j', (text, reason) => {
  const parsed = parseVerifierKey(text)
  expect(E.isLeft(parsed) ? parsed.left : '').toContain(reason)
})
