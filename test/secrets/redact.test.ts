/** The redactor: every kind is found wherever it stands, nothing else is, and hostile texts take linear time. */
import { describe, expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import fc from 'fast-check'
import { z } from 'zod'
import { Redactor, type OwnRules } from '../../src/application/secrets/redact.js'
import { SECRET_RULES } from '../../src/application/secrets/rules.js'
import { combinations, isLong, sampled } from '../support/length.js'
import { MAKERS, plantedSecrets, randomFrom } from '../support/planted-secrets.js'

function redactorWith(own: OwnRules = {}, key = 'a key of a ledger'): Redactor {
  const redactor = Redactor.create(Buffer.from(key), own)
  if (E.isLeft(redactor)) throw new Error(redactor.left.detail)
  return redactor.right
}
const redactor = redactorWith()

const SENTENCES = [
  (secret: string) => `Please use ${secret} for the deployment.`,
  (secret: string) => `请用这个密钥${secret}，谢谢`,
  (secret: string) => `このキー${secret}を使ってください`,
  (secret: string) => `이 키를 사용하세요: ${secret}.`,
  (secret: string) => `Ключ: «${secret}», не показывай никому`,
  (secret: string) => `المفتاح هو ${secret} من فضلك`,
  (secret: string) => `Der Schlüssel lautet „${secret}“ – bitte löschen`,
]
const CARRIERS: readonly (readonly [string, (text: string) => string])[] = [
  ['in JSON', (text) => JSON.stringify({ note: text })],
  ['in JSON inside JSON', (text) => JSON.stringify({ arguments: JSON.stringify({ command: `echo\n${text}` }) })],
  ['in a query', (text) => `https://example.com/x?a=1&v=${text}&b=2`],
  ['in a terminal', (text) => `\u001B[32m${text}\u001B[0m`],
  ['in a list', (text) => `- ${text}\n- next`],
]

describe('a redacted text', () => {
  it.each(MAKERS.map((make) => [make(randomFrom(1)).kind, make] as const))('%s leaves no text', (kind, make) => {
    const random = randomFrom(kind.length)
    for (let time = 0; time < 20; time += 1) {
      const { text, secret } = make(random)
      for (const sentence of SENTENCES) {
        const { value } = redactor.text(sentence(text))
        expect(value).not.toContain(secret)
        expect(value).toMatch(new RegExp(String.raw`\[secret:${kind}:[0-9a-f]{4}\]`, 'u'))
      }
      for (const [, carry] of CARRIERS)
        expect(redactor.text(carry(text)).value).not.toContain(JSON.stringify(secret).slice(1, -1))
    }
  })

  it('keeps JSON readable', () => {
    for (const { text, secret } of plantedSecrets(3)) {
      const { value } = redactor.text(JSON.stringify({ a: JSON.stringify({ b: text }) }))
      const inner = z.object({ a: z.string() }).parse(JSON.parse(value)).a
      expect(JSON.stringify(JSON.parse(inner))).not.toContain(secret)
    }
  })

  it('names the same secret alike, and different ones differently', () => {
    const [one, two] = plantedSecrets(2)
    const mark = (text: string): string => redactor.text(text).value
    expect(mark(`x ${one?.text ?? ''}`).slice(2)).toBe(mark(one?.text ?? ''))
    expect(mark(one?.text ?? '')).not.toBe(mark(two?.text ?? ''))
    expect(redactorWith({}, 'another ledger').text(one?.text ?? '').value).not.toBe(mark(one?.text ?? ''))
  })

  it('finds secrets in Base64 text, which stays Base64', () => {
    for (const { secret, text, kind } of plantedSecrets(2)) {
      if (SECRET_RULES.find((rule) => rule.kind === kind)?.encoded !== true) continue
      const encoded = Buffer.from(`apiVersion: v1\nvalue: ${text}\n`).toString('base64')
      const { value, replacements } = redactor.text(`data: ${encoded}`)
      const decoded = Buffer.from(value.slice(6), 'base64').toString()
      expect(decoded).not.toContain(secret)
      expect(decoded).toMatch(/^apiVersion: v1\nvalue: .*\[secret:/u)
      expect([...replacements.values()].map((marks) => marks.map((mark) => mark.kind))).toEqual([[kind]])
    }
  })

  it('finds secrets in percent-encoded text', () => {
    for (const { secret, text, kind } of plantedSecrets(1)) {
      const isEncoded = SECRET_RULES.find((rule) => rule.kind === kind)?.encoded === true
      const whole = isEncoded ? `data: ${Buffer.from(`value: ${text}\n`).toString('base64')}` : text
      // Signs in the secret itself are encoded, too.
      if (!isEncoded && encodeURIComponent(secret) !== secret) continue
      const { value } = redactor.text(`/v1/conversations/${encodeURIComponent(whole)}/context`)
      expect(value).not.toContain(isEncoded ? encodeURIComponent(whole).slice(10, -6) : secret)
    }
  })

  it('finds secrets in Base64 in lines', () => {
    const [{ text, secret } = { text: '', secret: '' }] = plantedSecrets(1)
    const encoded = Buffer.from(
      `first line of a long file\nkey ${text}\nand the last line, which is longer\n`,
    ).toString('base64')
    const lines = encoded.match(/.{1,76}/gu)?.join('\n') ?? ''
    const { value } = redactor.text(lines)
    expect(Buffer.from(value, 'base64').toString()).not.toContain(secret)
    expect(value.split('\n').every((line) => line.length <= 76)).toBe(true)
  })

  it('takes names of fields into account', () => {
    const input = {
      password: 'correct-Horse7battery',
      list: [{ api_key: 'Ab3dEf6hIj9lMn2p' }],
      note: 'Ab3dEf6hIj9lMn2p',
    }
    const { value } = redactor.json(input)
    expect(value.password).toMatch(/^\[secret:password:/u)
    expect(value.list[0]?.api_key).toMatch(/^\[secret:assigned-secret:/u)
    expect(value.note).toBe(input.note)
  })

  it('is the same object if nothing was found', () => {
    const input = { a: ['plain text', { b: 1 }], when: new Date(0) }
    expect(redactor.json(input).value).toBe(input)
  })
})

describe('a text that ends within a secret', () => {
  // The shapes of these are recognized by their end.
  const WHOLE_ONLY = new Set(['telegram-token', 'azure-client-secret'])
  const cut = MAKERS.filter((make) => !WHOLE_ONLY.has(make(randomFrom(1)).kind))

  it.each(cut.map((make) => [make(randomFrom(1)).kind, make] as const))('keeps nothing of %s', (_kind, make) => {
    const random = randomFrom(41)
    for (let time = 0; time < 20; time += 1) {
      const { text, secret } = make(random)
      const before = text.indexOf(secret)
      const length = Math.ceil(secret.length * (0.6 + 0.3 * random()))
      const part = secret.slice(0, length)
      for (const after of ['', '…', '...']) {
        // Only tokens are looked for before an ellipsis.
        if (after !== '' && before > 0) continue
        const { value } = redactor.text(`I used ${text.slice(0, before)}${part}${after}`)
        expect(value).not.toContain(part.slice(-12))
        expect(redactor.text(value).value).toBe(value)
      }
    }
  })

  it.each([
    'http://localhost:3000',
    'https://host:port',
    'hf_hub_download',
    'see re_export',
    'AKIA',
    'the sk-ant-api03-',
  ])('keeps %s', (text) => {
    expect(redactor.text(text).value).toBe(text)
  })
})

describe('a text without secrets', () => {
  it.each([
    'const password = process.env.DB_PASSWORD',
    'password: string',
    'tokens: `beam/beam-1m-09.jsonl` (1802 messages)',
    'https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX',
    "getToken(user.accessToken) === 'authorization_code'",
    'export const TOKEN_LIMIT = 128_000; // tokens: 4096',
    'commit 9a28251f4c8a7d1e0b3c5f6a7d8e9f0a1b2c3d4e',
    'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=',
    'http://localhost:3000/@fs/home/ada/shop/src/index.ts',
    'postgres://user:password@localhost/db and redis://:${REDIS_PASSWORD}@cache',
    'sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
    '-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----',
    'https://example.com/task-list/disk-usage-report-2024-01-02',
    '550e8400-e29b-41d4-a716-446655440000',
    'secret: {{ .Values.secretName }} token=${{ secrets.GITHUB_TOKEN }}',
    'api_key=os.getenv("OPENAI_API_KEY"), token = request.headers.get("x")',
  ])('%s', (text) => {
    expect(redactor.text(text).value).toBe(text)
  })
})

describe('a policy', () => {
  it('has patterns and allow-lists of its own', () => {
    const custom = redactorWith({ patterns: { 'shop-order': 'ORD-[0-9]{6}' }, allow: ['AKIA[A-Z]+'] })
    const text = `ORD-123456 ${['AK', 'IAABCDEFGHIJKLMNOP'].join('')}`
    expect(custom.text(text).value).toMatch(/^\[secret:shop-order:[0-9a-f]{4}\] AKIAABCDEFGHIJKLMNOP$/u)
  })

  it.each(['(a+)+', '(?=x)', String.raw`(a)\1`, '', 'a*', '[a-z]+[a-z]+[a-z]+x', '[', '(?<n>a)', 'a{9999}'])(
    'refuses the pattern %s',
    (pattern) => {
      expect(E.isLeft(Redactor.create(Buffer.from('k'), { patterns: { mine: pattern } }))).toBe(true)
    },
  )
})

describe('laws', () => {
  const planted = fc.integer({ min: 0, max: 1_000_000 }).map((seed) => {
    const random = randomFrom(seed)
    return MAKERS[seed % MAKERS.length]?.(random) ?? { kind: '', text: '', secret: '' }
  })
  const around = fc.oneof(fc.constantFrom(' ', '\n', '"', '：', '，', '(', '\t', "'"), fc.constant(' the word '))

  it('removes each planted secret, and finds nothing in a redacted text', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.string({ unit: 'grapheme' }), around, planted, around), { maxLength: 4 }),
        (parts) => {
          const text = parts.map(([noise, before, { text: each }, after]) => noise + before + each + after).join('')
          const { value } = redactor.text(text)
          for (const [, , { secret }] of parts) expect(value).not.toContain(secret)
          expect(redactor.text(value).value).toBe(value)
        },
      ),
    )
  })
})

describe('hostile texts', () => {
  it.each(
    sampled(
      combinations(
        ['sk-ant-', 'eyJ', 'xoxb-', 'AccountKey=', 'password=', '://a:', '-----BEGIN RSA PRIVATE KEY-----\n', ''],
        ['Ab1', 'a'],
      ),
      3,
    ),
  )('%j and a word of 8 MB (%s) are taken', (start, filling) => {
    expect(redactor.text(start + filling.repeat(8_000_000 / filling.length)).value.length).toBeGreaterThan(0)
  })

  const SIZE = isLong ? 300_000 : 100_000
  // Quadratic work of 300,000 characters takes minutes.
  const MOST_MS = (8_000 * SIZE ** 2) / 300_000 ** 2
  const repeat = (text: string): string => text.repeat(Math.ceil(SIZE / text.length))
  it.each([
    ...new Set([
      ...SECRET_RULES.flatMap(({ starts }) => starts),
      'a',
      'eyJa.',
      'eyJaaaaaaaaaaaa.eyJ',
      '://a:',
      '://:',
      'token=',
      'password: "',
      'sk-ant-api03-',
      '-----BEGIN RSA PRIVATE KEY-----',
      '-----BEGIN RSA PRIVATE KEY-----\n',
      'QUJD\n',
      'authorization:',
      'bearer ',
      '\\n',
      '%41',
      'xoxb-1',
    ]),
  ])('%j repeated takes linear time', (text) => {
    const input = repeat(text)
    // Time of the processor, which does not depend on the load of the machine.
    const before = process.cpuUsage()
    redactor.text(input)
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(MOST_MS)
  })
})
