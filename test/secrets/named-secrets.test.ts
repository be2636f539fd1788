/** Whatever stands after the name of a secret is replaced, and code, words and placeholders are not. */
import { describe, expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import { Redactor } from '../../src/application/secrets/redact.js'
import { runsOf } from '../support/length.js'

const redactor = E.getOrElse((): Redactor => {
  throw new Error('no redactor')
})(Redactor.create(undefined))

const LOWER = 'abcdefghijklmnopqrstuvwxyz'
const DIGITS = '0123456789'
const ALPHABETS: Readonly<Record<string, string>> = {
  'letters and digits': LOWER + LOWER.toUpperCase() + DIGITS,
  signs: `${LOWER}${LOWER.toUpperCase()}${DIGITS}!#*+-.:?@^_~`,
  hex: `${DIGITS}abcdef`,
  letters: LOWER + LOWER.toUpperCase(),
  'small letters': LOWER,
  digits: DIGITS,
  Base64: `${LOWER}${LOWER.toUpperCase()}${DIGITS}+/`,
}

const encoded = (password: string): string => Buffer.from(`me:${password}`).toString('base64')

/** Places of a secret, and the text that must not remain. */
const PLACES: Readonly<Record<string, (secret: string) => string>> = {
  bearer: (secret) => `Authorization: Bearer ${secret}`,
  authorization: (secret) => `authorization: ${secret}`,
  'authorization in JSON': (secret) => `{"Authorization":"Bearer ${secret}"}`,
  basic: (secret) => `-H 'Authorization: Basic ${encoded(secret)}'`,
  setting: (secret) => `password=${secret}`,
  quoted: (secret) => `password: "${secret}"`,
  JSON: (secret) => JSON.stringify({ password: secret }),
  'JSON in JSON': (secret) => JSON.stringify(JSON.stringify({ password: secret })),
  flag: (secret) => `mysql --password ${secret} orders`,
  'flag with a sign': (secret) => `mysql --password=${secret} orders`,
  npmrc: (secret) => `//registry.example.com/:_authToken=${secret}`,
  'client secret': (secret) => `client_secret=${secret}&grant_type=x`,
  'client secret in JSON': (secret) => `{"client_secret": "${secret}"}`,
  cookie: (secret) => `Cookie: sid=${secret}; theme=dark`,
  'set-cookie': (secret) => `set-cookie: session=${secret}; Path=/; HttpOnly`,
  curl: (secret) => `curl -s -u admin:${secret} https://example.com/x`,
  'curl in quotes': (secret) => `curl --user "admin:${secret}" https://example.com/x`,
  docker: (secret) => `{"auths":{"registry.example.com":{"auth":"${encoded(secret)}"}}}`,
}

/** A generator of repeatable numbers below a limit. */
function randomFrom(seed: number): (limit: number) => number {
  let state = seed
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * limit)
  }
}

it('of generated secrets of all kinds in all places, at most 1 of 200 remains', () => {
  const random = randomFrom(11)
  const remaining: string[] = []
  const number = runsOf(20_000)
  const [places, alphabets] = [Object.entries(PLACES), Object.entries(ALPHABETS)]
  for (let at = 0; at < number; at += 1) {
    const [place = '', text] = places[at % places.length] ?? []
    const [kind = '', alphabet = ''] = alphabets[Math.floor(at / places.length) % alphabets.length] ?? []
    const secret = Array.from({ length: 8 + random(32) }, () => alphabet[random(alphabet.length)]).join('')
    const redacted = redactor.text(text?.(secret) ?? '').value
    const parts = [secret, secret.slice(3), secret.slice(0, -3), encoded(secret)]
    if (parts.some((part) => redacted.includes(part))) remaining.push(`${place}, ${kind}: ${redacted}`)
  }
  expect(remaining.slice(0, remaining.length > number / 200 ? 20 : 0)).toEqual([])
})

describe('not a secret:', () => {
  it.each([
    'password: string',
    'const password = await promptForPassword()',
    'connect({ user, password: options.password })',
    'password="$DB_PASSWORD"',
    'password=changeme',
    '--password <password>',
    '--password PASSWORD',
    'the --password flag sets it',
    '--token "${TOKEN}"',
    'Authorization: Bearer $TOKEN',
    'Authorization: Bearer <token>',
    'Authorization: Bearer cl_…',
    'authorization: getAuthorizationHeader(request)',
    'headers: { Authorization: `Bearer ${token}` }',
    'Cookie: name=value',
    'cookie: parseCookies(header)',
    '"auth": "required"',
    '"auth": "basic"',
    'git push -u origin:main',
    'docker run -u 1000:1000 image',
    'client_secret: clientSecret',
    'clientSecret: "your-client-secret"',
    'SignInAfterPasswordReset: "SignInAfterPasswordReset"',
    '//packages.example/:_authToken=${NPM_TOKEN}',
    'type="password" autocomplete="current-password"',
    'label: { password: "Password" }',
    'PWD=/srv\nOLDPWD=/tmp\nHOME=/root',
    'PWD=/srv/harbour-2/v1.4\nOLDPWD=/home/me/Work_9',
    'OLDPWD="/home/me/Work_9"',
    '{"PWD":"/home/me/Work_9","OLDPWD":"~/Work_9"}',
    String.raw`{\"PWD\":\"/home/me/Work_9\"}`,
    'PWD=~/Work_9/x7',
    'PWD=C:/Users/me/Work_9',
    String.raw`PWD=C:\Users\me\Work_9`,
  ])('%s', (text) => {
    expect(redactor.text(text).value).toBe(text)
  })
})

it.each(['Server=db;Uid=me;Pwd=Hunter22x;', 'PWD=Hunter22x', '{"pwd":"Hunter22x"}', 'OLDPWD=Hunter/22x'])(
  'a password after `pwd` that is no path is replaced: %s',
  (text) => {
    expect(redactor.text(text).value).toContain('[secret:password:0000]')
  },
)

it('what is replaced in a header, a command and a file stays readable around it', () => {
  const text = [
    'curl -u admin:Hunter22x -H "Authorization: Bearer abcdefgh12" https://example.com',
    'Cookie: sid=8f3a9c; theme=dark',
    '{"auths":{"r.example.com":{"auth":"bWU6c2VjcmV0cHc="}}}',
  ].join('\n')
  expect(redactor.text(text).value.split('\n')).toEqual([
    'curl -u admin:[secret:basic-login:0000] -H "Authorization: Bearer [secret:authorization-header:0000]" https://example.com',
    'Cookie: [secret:cookie:0000]',
    '{"auths":{"r.example.com":{"auth":"[secret:registry-login:0000]"}}}',
  ])
})
