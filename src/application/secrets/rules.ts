/**
 * The shapes of secrets, as data. The shapes are those that providers document and that public rule sets list (gitleaks,
 * MIT; GitHub's supported secret scanning patterns); docs/decisions/0022-secret-detection.md names the sources.
 *
 * Every quantifier is bounded, so that a scan is linear in the length of the text and no match overflows the stack.
 */

import type { VALUE_TESTS } from './values.js'

export interface SecretRule {
  /** The name in the redacted text: lower case letters, digits and hyphens. */
  readonly kind: string
  /** A match begins with one of these texts. */
  readonly starts: readonly string[]
  /** Whether the case of `starts` is ignored. */
  readonly ignoreCase?: true
  /**
   * Matches at a start. The group `secret` is the part to redact; without that group, the whole match is. The group
   * `unfinished` takes part in the match if the text cuts the secret off; then a stricter test replaces `value`.
   */
  readonly shape: RegExp
  /** The start may follow a letter or a digit. By default, it may not. */
  readonly inWord?: true
  /** The secret begins this number of characters before the match, if `shape` matches them. */
  readonly back?: { readonly length: number; readonly shape: RegExp }
  /** Also found in Base64 text. */
  readonly encoded?: true
  /** Rejects values that are placeholders or code; see `values.ts`. */
  readonly value?: keyof typeof VALUE_TESTS
}

const CLASS = /\[([^\]]+)\]/gu
/** A shorter start of letters only is the start of many words. */
const isDistinctive = (start: string): boolean => start.length > 3 || /[^A-Za-z]/u.test(start)

/** All characters that occur in matches of a body. */
function charactersOf(body: string): string {
  const sets = [...body.matchAll(CLASS)].map(([, set = '']) => set.replace(/-$/u, String.raw`\-`))
  const between = body.replaceAll(CLASS, '')
  const signs = ['.', '_', '-'].filter((sign) => between.includes(sign)).map((sign) => `\\${sign}`)
  return `[${sets.join('')}${signs.join('')}]`
}

/** The beginning of a body at the end of the text, or before an ellipsis. Nothing after a start that is a word. */
const unfinishedBody = (starts: readonly string[], body: string): string =>
  starts.every(isDistinctive) ? String.raw`(?<unfinished>${charactersOf(body)}{6,200})(?:$|(?=…|\.\.\.))` : '(?!)'

/**
 * A provider's token: fixed starts, then a body. Tokens with few different characters are placeholders. A token that the
 * text cuts off is found, too.
 */
const token = (kind: string, starts: readonly string[], body: string): SecretRule => ({
  kind,
  starts,
  shape: new RegExp(
    `(?:${starts.map((start) => start.replaceAll('.', String.raw`\.`)).join('|')})(?:${body}|${unfinishedBody(starts, body)})`,
    'y',
  ),
  encoded: true,
  value: 'token',
})

const END = '(?![A-Za-z0-9_-])'
const HEX_END = '(?![A-Za-z0-9])'

const TOKENS: readonly SecretRule[] = [
  // Cloud providers
  token('aws-access-key', ['AKIA', 'ASIA', 'ABIA', 'ACCA'], '[A-Z0-9]{16}(?![A-Za-z0-9])'),
  token(
    'aws-bedrock-key',
    ['ABSKQmVkcm9ja0FQSUtleS', 'bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t'],
    '[A-Za-z0-9+/]{20,4096}={0,2}',
  ),
  token('google-api-key', ['AIza'], `[A-Za-z0-9_-]{35}${END}`),
  token('google-oauth-token', ['ya29.'], '[A-Za-z0-9_-]{20,4096}'),
  token('google-client-secret', ['GOCSPX-'], '[A-Za-z0-9_-]{24,4096}'),
  token('google-refresh-token', ['1//0'], '[A-Za-z0-9_-]{40,4096}'),
  token('alibaba-access-key', ['LTAI'], `[A-Za-z0-9]{16,24}${HEX_END}`),
  token('tencent-access-key', ['AKID'], `[A-Za-z0-9]{32}${HEX_END}`),
  token('digitalocean-token', ['dop_v1_', 'doo_v1_', 'dor_v1_'], '[a-f0-9]{64}'),
  token('heroku-key', ['HRKU-'], '[A-Za-z0-9_-]{36,4096}'),
  token('flyio-token', ['fo1_', 'FlyV1 fm1_', 'FlyV1 fm2_', 'fm2_'], '[A-Za-z0-9_+/=,-]{40,4096}'),
  token('cloudflare-origin-key', ['v1.0-'], '[a-f0-9]{24}-[a-f0-9]{100,4096}'),
  // Source code and packages
  token('github-token', ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'], `[A-Za-z0-9]{36,255}`),
  token('github-fine-grained-token', ['github_pat_'], '[A-Za-z0-9_]{36,255}'),
  token(
    'gitlab-token',
    ['glpat-', 'gldt-', 'glrt-', 'glptt-', 'glcbt-', 'glft-', 'glimt-', 'glsoat-', 'glagent-', 'gloas-', 'GR1348941'],
    '[A-Za-z0-9_.-]{20,300}',
  ),
  token('atlassian-token', ['ATATT3', 'ATCTT3', 'ATBB'], '[A-Za-z0-9_=-]{28,300}'),
  token('npm-token', ['npm_'], `[A-Za-z0-9]{36}${HEX_END}`),
  token('pypi-token', ['pypi-AgEIcHlwaS5vcmc', 'pypi-AgENdGVzdC5weXBpLm9yZw'], '[A-Za-z0-9_-]{50,4096}'),
  token('rubygems-key', ['rubygems_'], `[a-f0-9]{48}${HEX_END}`),
  token('crates-token', ['cio'], `[A-Za-z0-9]{32}${END}`),
  token('docker-token', ['dckr_pat_', 'dckr_oat_'], '[A-Za-z0-9_-]{27,4096}'),
  token('nuget-key', ['oy2'], `[a-z0-9]{43}${HEX_END}`),
  token('clojars-token', ['CLOJARS_'], '[a-z0-9]{60}'),
  token('artifactory-key', ['AKCp'], `[A-Za-z0-9]{69}${HEX_END}`),
  // Models
  token('anthropic-key', ['sk-ant-'], '[A-Za-z0-9_-]{20,4096}'),
  token('openrouter-key', ['sk-or-v1-'], '[A-Za-z0-9]{40,4096}'),
  token('openai-key', ['sk-proj-', 'sk-svcacct-', 'sk-admin-', 'sk-None-'], '[A-Za-z0-9_-]{20,4096}'),
  token('openai-key', ['sk-'], `(?=[A-Za-z0-9]{0,40}[0-9])[A-Za-z0-9]{32,64}${END}`),
  token('langfuse-key', ['sk-lf-'], '[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}'),
  token('huggingface-token', ['hf_', 'api_org_'], `[A-Za-z0-9]{34,40}${END}`),
  token('groq-key', ['gsk_'], '[A-Za-z0-9]{40,64}'),
  token('xai-key', ['xai-'], '[A-Za-z0-9]{60,120}'),
  token('perplexity-key', ['pplx-'], '[A-Za-z0-9]{40,64}'),
  token('replicate-token', ['r8_'], `[A-Za-z0-9]{37}${END}`),
  token('fireworks-key', ['fw_'], `[A-Za-z0-9]{22,24}${END}`),
  token('nvidia-key', ['nvapi-'], '[A-Za-z0-9_-]{60,80}'),
  token('tavily-key', ['tvly-'], '[A-Za-z0-9-]{32,64}'),
  token('langsmith-key', ['lsv2_pt_', 'lsv2_sk_'], '[a-f0-9]{32}_[a-f0-9]{10}'),
  token('cerebras-key', ['csk-'], `[a-z0-9]{40,64}${END}`),
  token('pinecone-key', ['pcsk_'], '[A-Za-z0-9_]{40,120}'),
  token('context-ledger-key', ['clk_'], '[A-Za-z0-9_-]{32,4096}'),
  // Communication and payment
  token(
    'slack-token',
    ['xoxb-', 'xoxp-', 'xoxa-', 'xoxr-', 'xoxs-', 'xoxo-', 'xoxc-', 'xoxd-', 'xoxe-', 'xoxe.xoxp-', 'xoxe.xoxb-'],
    '[A-Za-z0-9%-]{20,4096}',
  ),
  token('slack-app-token', ['xapp-'], '[0-9]-[A-Z0-9]{6,20}-[0-9]{8,16}-[A-Za-z0-9]{32,100}'),
  token('stripe-key', ['sk_live_', 'rk_live_', 'sk_test_', 'rk_test_', 'sk_prod_', 'rk_prod_'], '[A-Za-z0-9]{16,4096}'),
  token('stripe-webhook-secret', ['whsec_'], '[A-Za-z0-9+/=]{24,4096}'),
  token('square-token', ['sq0atp-', 'sq0csp-', 'EAAAE', 'EAAAl'], '[A-Za-z0-9_-]{22,60}'),
  token('shopify-token', ['shpat_', 'shpca_', 'shppa_', 'shpss_'], '[a-fA-F0-9]{32}'),
  token('sendgrid-key', ['SG.'], '[A-Za-z0-9_-]{16,32}\\.[A-Za-z0-9_-]{16,64}'),
  token('mailgun-key', ['key-'], `[a-f0-9]{32}${HEX_END}`),
  token('brevo-key', ['xkeysib-', 'xsmtpsib-'], '[a-f0-9]{64}-[A-Za-z0-9]{16}'),
  token('resend-key', ['re_'], `[A-Za-z0-9]{8}_[A-Za-z0-9]{20,28}${END}`),
  token('twilio-key', ['SK'], `[a-f0-9]{32}${HEX_END}`),
  token('facebook-token', ['EAAC', 'EAAB', 'EAAG', 'EAAM'], '[A-Za-z0-9]{90,4096}'),
  // Operations
  token('databricks-token', ['dapi'], `[a-f0-9]{32}(?:-[0-9])?${HEX_END}`),
  token('grafana-token', ['glsa_', 'glc_'], '[A-Za-z0-9+/=_]{32,400}'),
  token('sentry-token', ['sntrys_', 'sntryu_'], '[A-Za-z0-9+/=_]{40,4096}'),
  token('newrelic-key', ['NRAK-', 'NRII-', 'NRJS-'], '[A-Za-z0-9_-]{19,40}'),
  token(
    'doppler-token',
    ['dp.pt.', 'dp.st.', 'dp.ct.', 'dp.sa.', 'dp.scim.', 'dp.audit.'],
    '(?:[a-z0-9_-]{2,35}\\.)?[A-Za-z0-9]{40,44}',
  ),
  token('vault-token', ['hvs.', 'hvb.', 'hvr.'], '[A-Za-z0-9_-]{24,300}'),
  token('pulumi-token', ['pul-'], `[a-f0-9]{40}${HEX_END}`),
  token('planetscale-token', ['pscale_tkn_', 'pscale_pw_', 'pscale_oauth_'], '[A-Za-z0-9_=.-]{32,64}'),
  token('supabase-key', ['sbp_', 'sb_secret_'], '[A-Za-z0-9_-]{20,4096}'),
  token('netlify-token', ['nfp_'], '[A-Za-z0-9]{36,4096}'),
  token('age-key', ['AGE-SECRET-KEY-1'], '[A-Z0-9]{58}'),
  token('onepassword-token', ['ops_eyJ'], '[A-Za-z0-9+/_-]{100,4096}={0,3}'),
  // Tools
  token('linear-key', ['lin_api_', 'lin_oauth_'], '[A-Za-z0-9]{32,64}'),
  token('notion-token', ['ntn_'], `[A-Za-z0-9]{40,50}${END}`),
  token('figma-token', ['figd_', 'figo_', 'figor_'], '[A-Za-z0-9_-]{40,4096}'),
  token('postman-key', ['PMAK-'], '[a-f0-9]{24}-[a-f0-9]{34}'),
  token('airtable-token', ['pat'], `[A-Za-z0-9]{14}\\.[a-f0-9]{64}`),
  token('typeform-token', ['tfp_'], '[A-Za-z0-9_.=-]{59}'),
  token('readme-key', ['rdme_'], '[a-z0-9]{70}'),
  token('dropbox-token', ['sl.u.', 'sl.B'], '[A-Za-z0-9_=-]{100,4096}'),
  token('terraform-token', ['atlasv1.'], '[A-Za-z0-9_=-]{60,70}'),
]

/**
 * Values after the name of a setting: the opening of the value in code, in JSON (also inside a JSON string), in
 * environments, and percent-encoded in URLs.
 */
const ASSIGN = String.raw`(?:\\{0,3}["']|%2[27])?(?:[ \t]|%20){0,4}(?:=>|:=|==?|:|%3[AD])(?:[ \t]|%20){0,4}(?:\\{0,3}["'\x60]|%2[27]){0,3}`

/** The beginnings of the flags of commands that take a secret. */
const FLAGS = [
  '--pass',
  '--token',
  '--secret',
  '--api-key',
  '--apikey',
  '--auth-token',
  '--access-token',
  '--client-secret',
]

/** A secret after a flag, and what may be between the two. */
const afterFlag = (between: string, value: 'named' | 'namedNoWords'): SecretRule => ({
  kind: 'password',
  starts: FLAGS,
  shape: new RegExp(
    String.raw`--(?:pass(?:word|wd|phrase)?|token|secret|api-?key|auth-token|access-token|client-secret)(?:${between})(?<secret>[^\s"'\\\x60]{4,512})(?=[\s"'\\\x60]|$)`,
    'y',
  ),
  inWord: true,
  value,
})

/** The names of passwords. `PWD` and `OLDPWD` are also directories of a shell: a path after `pwd` is no password. */
const PASSWORD_NAME = String.raw`(?:password|passwd|passphrase|pwd(?![A-Za-z0-9_-]{0,16}${ASSIGN}(?:[/~]|[A-Za-z]:[\\/])))`

const OTHERS: readonly SecretRule[] = [
  {
    kind: 'private-key',
    starts: ['-----BEGIN '],
    shape:
      /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[^-]{0,65536}(?:-(?!----)[^-]{0,65536}){0,64}-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|(?:(?:\s|\\[nr]){1,8}[A-Za-z-]{1,40}: [^\n\\]{1,200}){0,4}(?:(?:\s|\\[nr]){1,8}[A-Za-z0-9+/=]{40,80}){1,2000}(?:(?:\s|\\[nr]){1,8}[A-Za-z0-9+/=]{1,80}(?=$|…|\.\.\.))?)/y,
    inWord: true,
    encoded: true,
    value: 'keyMaterial',
  },
  {
    kind: 'putty-key',
    starts: ['Private-Lines: '],
    shape: /Private-Lines: \d{1,3}(?:\\[rn]|\s){1,4}(?<secret>[A-Za-z0-9+/=\s\\]{64,65536})/y,
    encoded: true,
  },
  {
    kind: 'jwt',
    starts: ['eyJ'],
    shape:
      /eyJ[A-Za-z0-9_-]{10,4096}\.(?:eyJ[A-Za-z0-9_-]{8,4096}\.[A-Za-z0-9_-]{0,4096}|eyJ[A-Za-z0-9_-]{8,4096}(?<unfinished>$)|[A-Za-z0-9_-]{0,2048}\.[A-Za-z0-9_-]{8,2048}\.[A-Za-z0-9_-]{8,4096}\.[A-Za-z0-9_-]{16,2048})/y,
    encoded: true,
  },
  {
    kind: 'telegram-token',
    starts: [':AA'],
    shape: /:AA[A-Za-z0-9_-]{32,34}(?![A-Za-z0-9_-])/y,
    inWord: true,
    value: 'token',
  },
  {
    kind: 'azure-client-secret',
    starts: ['Q~'],
    shape: /Q~[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~-])/y,
    inWord: true,
    back: { length: 4, shape: /^[A-Za-z0-9_~.]{3}\d$/u },
    value: 'token',
  },
  {
    kind: 'azure-storage-key',
    starts: ['AccountKey=', 'SharedAccessKey='],
    shape: /(?:AccountKey|SharedAccessKey)=(?<secret>[A-Za-z0-9+/]{40,88}={0,2})/y,
    inWord: true,
    encoded: true,
  },
  {
    kind: 'azure-sas-signature',
    starts: ['sig='],
    shape: /sig=(?<secret>[A-Za-z0-9+/]{40,4096}={0,2}|(?:[A-Za-z0-9]|%[0-9A-Fa-f]{2}){40,80})/y,
    value: 'token',
  },
  {
    kind: 'slack-webhook',
    starts: ['hooks.slack.com/'],
    shape:
      /hooks\.slack\.com\/(?:services|workflows|triggers)\/(?<secret>[A-Za-z0-9+/]{40,80}|[A-Za-z0-9+/]{20,39}(?<unfinished>$))/y,
    value: 'token',
  },
  {
    kind: 'discord-webhook',
    starts: ['/api/webhooks/'],
    shape: /\/api\/webhooks\/\d{17,20}\/(?<secret>[A-Za-z0-9_-]{60,80}|[A-Za-z0-9_-]{12,59}(?<unfinished>$))/y,
    inWord: true,
  },
  {
    kind: 'teams-webhook',
    starts: ['/IncomingWebhook/'],
    shape: /\/IncomingWebhook\/(?<secret>[a-f0-9]{32}\/[a-f0-9-]{36})/y,
    inWord: true,
  },
  {
    kind: 'discord-token',
    starts: ['M', 'N', 'O'].flatMap((first) => ['T', 'D', 'j', 'z'].map((second) => `${first}${second}`)),
    shape: /[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}(?![A-Za-z0-9_-])/y,
    value: 'token',
  },
  {
    kind: 'url-password',
    starts: ['://'],
    shape: /:\/\/[^\s:/?#@"'`\\<>]{0,128}:(?<secret>[^\s/?#@"'`\\<>]{3,256})(?:@[A-Za-z0-9[_-]|(?<unfinished>$))/y,
    inWord: true,
    encoded: true,
    value: 'urlPassword',
  },
  {
    kind: 'aws-secret-key',
    // The same start as that of `assigned-secret`, so that this rule comes first.
    starts: ['secret'],
    ignoreCase: true,
    inWord: true,
    shape: new RegExp(
      String.raw`secret_?(?:access_?)?key${ASSIGN}(?<secret>[A-Za-z0-9+/]{40})(?![A-Za-z0-9+/=])`,
      'iy',
    ),
    encoded: true,
    value: 'token',
  },
  {
    kind: 'aws-session-token',
    starts: ['session_token', 'sessiontoken'],
    ignoreCase: true,
    inWord: true,
    shape: new RegExp(String.raw`session_?token${ASSIGN}(?<secret>[A-Za-z0-9+/]{100,4096}={0,2})`, 'iy'),
    value: 'token',
  },
  {
    kind: 'registry-login',
    starts: ['"auth', "'auth", '_auth'],
    shape:
      /(?:["']auth\\{0,3}["']|_auth)[ \t]{0,4}[:=][ \t]{0,4}\\{0,3}["']?(?<secret>[A-Za-z0-9+/]{6,4096}={0,2})(?=\\{0,3}["'\s]|$)/y,
    inWord: true,
    value: 'login',
  },
  {
    kind: 'npm-login',
    starts: ['_authToken', '_password'],
    shape: /_(?:authToken|password)[ \t]{0,4}=[ \t]{0,4}\\{0,3}["']?(?<secret>[^\s"'\\]{4,4096})/y,
    inWord: true,
    value: 'named',
  },
  {
    kind: 'basic-login',
    starts: ['-u', '--user', '--proxy-user'],
    // Only in a command of curl, wget or http.
    shape:
      /(?<=\b(?:curl|wget|https?)(?:\.exe)?[ \t](?:[^\n|]{0,600}[ \t])?)(?:-u|--(?:proxy-)?user)(?:[ \t=]{1,4})?\\{0,3}["']?[^\s:"'\\]{0,128}:(?<secret>[^\s"'\\]{2,256})/y,
    value: 'named',
  },
  afterFlag(String.raw`=\\{0,3}["']?|[ \t]{1,4}\\{0,3}["']`, 'named'),
  afterFlag(String.raw`[ \t]{1,4}`, 'namedNoWords'),
  {
    kind: 'cookie',
    starts: ['cookie:', 'cookie":', "cookie':", 'cookie\\":'],
    ignoreCase: true,
    inWord: true,
    shape:
      /cookie(?:\\{0,3}["'])?:[ \t]{0,4}(?:\\{0,3}["'])?(?<secret>[\w!#$%&*+.^|~-]{1,128}=[^\s;"'\\]{4,4096}(?:;[ \t]?[\w!#$%&*+.^|~-]{1,128}=[^\s;"'\\]{0,4096}){0,60})/iy,
    value: 'cookie',
  },
  {
    kind: 'authorization-header',
    starts: ['authorization'],
    ignoreCase: true,
    inWord: true,
    shape:
      /authorization(?:\\{0,3}["'])?:[ \t]{0,4}(?:\\{0,3}["'])?(?:bearer|basic|token|apikey|api-key|bot|digest|negotiate|key)[ \t]{1,4}(?<secret>[^\s"'\\\x60,]{4,4096})/iy,
    value: 'namedNoWords',
  },
  {
    kind: 'authorization-header',
    starts: ['authorization:'],
    ignoreCase: true,
    shape:
      /authorization:[ \t]{0,4}(?<secret>(?!(?:bearer|basic|token|apikey|api-key|bot|digest|negotiate|key)\b)[^\s"'\\\x60,;]{6,4096})(?=[\s"'\\\x60]|$)/iy,
    value: 'namedNoWords',
  },
  {
    kind: 'authorization-header',
    starts: ['authorization', 'x-api-key', 'api-key'],
    ignoreCase: true,
    shape:
      /(?:authorization|(?:x-)?api-key)(?:\\{0,3}["']|%2[27])?(?:[ \t]|%20){0,4}(?:[:=]|%3[AD])(?:[ \t]|%20){0,4}(?:\\{0,3}["'`]|%2[27])?(?:(?:bearer|basic|token|apikey|bot)(?:[ \t]|%20){1,4})?(?<secret>[A-Za-z0-9+/_.~=-]{16,4096})/iy,
    value: 'assigned',
  },
  {
    kind: 'bearer-token',
    starts: ['bearer ', 'bearer%20'],
    ignoreCase: true,
    shape: /bearer(?:[ ]|%20)(?<secret>[A-Za-z0-9+/_.~=-]{20,4096})/iy,
    value: 'assigned',
  },
  {
    kind: 'password',
    starts: ['password', 'passwd', 'passphrase', 'pwd'],
    ignoreCase: true,
    inWord: true,
    shape: new RegExp(
      String.raw`${PASSWORD_NAME}[A-Za-z0-9_-]{0,16}${ASSIGN}(?<secret>[^\s"'\x60\\<>(){}\[\],;&|]{8,128})(?=[\s"'\x60\\<>,;&|]|$)`,
      'iy',
    ),
    encoded: true,
    value: 'password',
  },
  {
    kind: 'password',
    starts: ['password', 'passwd', 'passphrase', 'pwd'],
    ignoreCase: true,
    inWord: true,
    // In quotes, or directly after the sign, as in settings and addresses.
    shape: new RegExp(
      String.raw`${PASSWORD_NAME}(?:\\{0,3}["'][ \t]{0,4}[:=][ \t]{0,4}\\{0,3}["']|[ \t]{0,4}[:=][ \t]{0,4}\\{0,3}["'])(?<secret>[^\s"'\\]{4,256})(?=\\{0,3}["'])`,
      'iy',
    ),
    value: 'namedNoWords',
  },
  {
    kind: 'password',
    starts: ['password=', 'passwd=', 'passphrase=', 'pwd='],
    ignoreCase: true,
    inWord: true,
    shape: new RegExp(
      String.raw`${PASSWORD_NAME}=(?<secret>[^\s"'\\\x60&;,<>()[\]{}|]{4,256})(?=[\s"'\\\x60&;,<]|$)`,
      'iy',
    ),
    value: 'namedNoWords',
  },
  {
    kind: 'assigned-secret',
    starts: ['client_secret', 'clientsecret'],
    ignoreCase: true,
    inWord: true,
    shape:
      /client_?secret(?:\\{0,3}["'][ \t]{0,4}[:=][ \t]{0,4}\\{0,3}["']|[ \t]{0,4}[:=][ \t]{0,4}\\{0,3}["'])(?<secret>[^\s"'\\]{4,256})(?=\\{0,3}["'])/iy,
    value: 'namedNoWords',
  },
  {
    kind: 'assigned-secret',
    starts: ['client_secret=', 'clientsecret='],
    ignoreCase: true,
    inWord: true,
    shape: /client_?secret=(?<secret>[^\s"'\\\x60&;,<>()[\]{}|]{4,256})(?=[\s"'\\\x60&;,<]|$)/iy,
    value: 'namedNoWords',
  },
  {
    kind: 'assigned-secret',
    starts: [
      'secret',
      'token',
      'api_key',
      'apikey',
      'api-key',
      'access_key',
      'accesskey',
      'auth_key',
      'private_key',
      'encryption_key',
      'signing_key',
      'credential',
    ],
    ignoreCase: true,
    inWord: true,
    shape: new RegExp(
      String.raw`(?:secret|token|api[_-]?key|access_?key|auth_key|private_key|encryption_key|signing_key|credentials?)[A-Za-z0-9_-]{0,16}${ASSIGN}(?<secret>[A-Za-z0-9+/_.~=-]{16,512})(?=[\s"'\x60\\<>,;&|)}\]%]|$)`,
      'iy',
    ),
    value: 'assigned',
  },
]

/** All rules. At the same place, the first rule that matches wins. */
export const SECRET_RULES: readonly SecretRule[] = [...OTHERS.slice(0, 2), ...TOKENS, ...OTHERS.slice(2)]
