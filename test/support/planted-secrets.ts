/**
 * Secrets of many kinds, made at random. They are put together of parts, so that no file of the repository contains a
 * text that a hosting service would take for a live key.
 */
const UPPER = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'
const LOWER = UPPER.toLowerCase()
const DIGITS = '0123456789'
/** Joins the parts of a start that no file may contain whole. */
const joined = (...parts: readonly string[]): string => parts.join('')
const ALNUM = UPPER + LOWER + DIGITS
const HEX = `${DIGITS}abcdef`

/** A generator of numbers from 0 to 1, the same for the same seed. */
export function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

type Random = () => number
const pick = (random: Random, from: string, count: number): string =>
  Array.from({ length: count }, () => from.charAt(Math.floor(random() * from.length))).join('')
/** Letters and digits with at least one of each. */
const mixed = (random: Random, count: number): string => `a7${pick(random, ALNUM, count - 2)}`
const base64Url = (text: string): string => Buffer.from(text).toString('base64url')

/** The planted text, and the secret in it, which must not be found anywhere. */
export interface Planted {
  readonly kind: string
  readonly text: string
  readonly secret: string
}

const plain =
  (kind: string, make: (random: Random) => string) =>
  (random: Random): Planted => {
    const secret = make(random)
    return { kind, text: secret, secret }
  }
const within =
  (kind: string, make: (random: Random) => readonly [string, string, string]) =>
  (random: Random): Planted => {
    const [before, secret, after] = make(random)
    return { kind, text: before + secret + after, secret }
  }

/** One maker for each kind. */
export const MAKERS: readonly ((random: Random) => Planted)[] = [
  plain('aws-access-key', (random) => `${joined('AK', 'IA')}${pick(random, UPPER + '234567', 16)}`),
  within('aws-secret-key', (random) => ['AWS_SECRET_ACCESS_KEY=', pick(random, `${ALNUM}/+`, 40), '']),
  within('aws-session-token', (random) => ['aws_session_token = ', pick(random, `${ALNUM}/+`, 220), '']),
  plain('google-api-key', (random) => `${joined('AI', 'za')}${pick(random, `${ALNUM}_-`, 35)}`),
  plain('google-oauth-token', (random) => `${joined('ya', '29')}.${pick(random, `${ALNUM}_-`, 60)}`),
  plain('google-client-secret', (random) => `${joined('GOC', 'SPX')}-${pick(random, ALNUM, 28)}`),
  plain('github-token', (random) => `${joined('gh', 'p')}_${pick(random, ALNUM, 36)}`),
  plain(
    'github-fine-grained-token',
    (random) => `${joined('github', '_pat')}_${pick(random, ALNUM, 22)}_${pick(random, ALNUM, 59)}`,
  ),
  plain('gitlab-token', (random) => `${joined('gl', 'pat')}-${pick(random, ALNUM, 20)}`),
  plain(
    'slack-token',
    (random) => `${joined('xo', 'xb')}-${pick(random, DIGITS, 12)}-${pick(random, DIGITS, 12)}-${mixed(random, 24)}`,
  ),
  within('slack-webhook', (random) => [
    `${joined('https://hooks.', 'slack')}.com/services/`,
    `T${pick(random, UPPER + DIGITS, 10)}/B${pick(random, UPPER + DIGITS, 10)}/${mixed(random, 24)}`,
    '',
  ]),
  plain('stripe-key', (random) => `${joined('sk', '_live')}_${mixed(random, 24)}`),
  plain(
    'openai-key',
    (random) => `${joined('sk', '-proj')}-${mixed(random, 40)}T3${joined('Blbk', 'FJ')}${mixed(random, 40)}`,
  ),
  plain('anthropic-key', (random) => `${joined('sk', '-ant')}-api03-${pick(random, `${ALNUM}_-`, 93)}AA`),
  plain('huggingface-token', (random) => `${joined('h', 'f')}_${pick(random, UPPER + LOWER, 34)}`),
  plain('groq-key', (random) => `${joined('gs', 'k')}_${mixed(random, 52)}`),
  plain('npm-token', (random) => `${joined('np', 'm')}_${mixed(random, 36)}`),
  plain('pypi-token', (random) => `${joined('py', 'pi')}-AgEIcHlwaS5vcmc${pick(random, `${ALNUM}_-`, 70)}`),
  plain('sendgrid-key', (random) => `${joined('S', 'G')}.${mixed(random, 22)}.${mixed(random, 43)}`),
  plain('shopify-token', (random) => `${joined('sh', 'pat')}_${pick(random, HEX, 32)}`),
  plain('digitalocean-token', (random) => `${joined('do', 'p_v1')}_${pick(random, HEX, 64)}`),
  plain('vault-token', (random) => `${joined('hv', 's')}.${mixed(random, 90)}`),
  plain('databricks-token', (random) => `${joined('da', 'pi')}${pick(random, HEX, 32)}`),
  plain('newrelic-key', (random) => `${joined('NR', 'AK')}-${pick(random, UPPER + DIGITS, 27)}`),
  plain('linear-key', (random) => `${joined('li', 'n_api')}_${mixed(random, 40)}`),
  plain('postman-key', (random) => `${joined('PM', 'AK')}-${pick(random, HEX, 24)}-${pick(random, HEX, 34)}`),
  plain('grafana-token', (random) => `${joined('gl', 'sa')}_${mixed(random, 32)}_${pick(random, HEX, 8)}`),
  plain(
    'age-key',
    (random) => `${joined('AGE-SECRET', '-KEY')}-1${pick(random, 'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L', 58)}`,
  ),
  within('azure-storage-key', (random) => [
    'DefaultEndpointsProtocol=https;AccountName=files;AccountKey=',
    `${pick(random, `${ALNUM}+/`, 86)}==`,
    ';EndpointSuffix=core.windows.net',
  ]),
  plain(
    'azure-client-secret',
    (random) => `${pick(random, ALNUM, 3)}8${joined('Q', '~')}${pick(random, `${ALNUM}_-`, 33)}z`,
  ),
  within('telegram-token', (random) => [pick(random, DIGITS, 9), `${joined(':A', 'A')}${mixed(random, 33)}`, '']),
  plain('jwt', (random) =>
    [base64Url('{"alg":"HS256","typ":"JWT"}'), base64Url(`{"sub":"${mixed(random, 12)}"}`), mixed(random, 43)].join(
      '.',
    ),
  ),
  plain('private-key', (random) => {
    const lines = Array.from({ length: 6 }, () => pick(random, `${ALNUM}+/`, 64)).join('\n')
    return `-----BEGIN ${joined('RSA', ' PRIVATE')} KEY-----\n${lines}\n-----END ${joined('RSA', ' PRIVATE')} KEY-----`
  }),
  within('url-password', (random) => ['postgres://app:', mixed(random, 18), '@db.internal:5432/orders']),
  within('password', (random) => [
    'Server=tcp:db,1433;User ID=app;Password=',
    `${mixed(random, 12)}!x`,
    ';Encrypt=True',
  ]),
  within('authorization-header', (random) => ['Authorization: Bearer ', mixed(random, 40), '']),
  within('assigned-secret', (random) => ['client_secret: "', mixed(random, 32), '"']),
]

/** Planted secrets, `each` of every kind. */
export function plantedSecrets(each: number, seed = 7): Planted[] {
  const random = randomFrom(seed)
  return MAKERS.flatMap((make) => Array.from({ length: each }, () => make(random)))
}
