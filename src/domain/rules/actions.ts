/**
 * The actions of agents, in the words of rules and in the calls of tools. To add an action, add a row: its words in a rule,
 * the shell commands that do it, and the words in names of tools that do it.
 */

export type Action =
  | 'change'
  | 'delete'
  | 'read'
  | 'push'
  | 'forcePush'
  | 'commit'
  | 'merge'
  | 'rebase'
  | 'deploy'
  | 'publish'
  | 'install'
  | 'send'
  | 'restart'
  | 'migrate'
  | 'pay'
  | 'run'
  | 'use'

interface ActionRow {
  readonly action: Action
  /** In a rule, in lower case. */
  readonly words: RegExp
  /** A command that does it, without `sudo` and variables. */
  readonly command?: RegExp
  /** A word in the name of a tool that does it. */
  readonly tool?: RegExp
  /** A call that does it matches a rule about it, whatever the object. */
  readonly isTelling?: true
}

const words = (spaced: string, unspaced: string): RegExp =>
  new RegExp(`(?<![\\p{L}\\p{N}_-])(?:${spaced})(?![\\p{L}\\p{N}_])|${unspaced}`, 'u')

/** More specific actions stand before general ones: `git push --force` is a forced push. */
export const ACTIONS: readonly ActionRow[] = [
  {
    action: 'forcePush',
    words: words(
      String.raw`force[- ]?push(?:es|ed|ing)?|push(?:es|ing)? (?:with )?(?:--force|-f)|git push (?:--force|-f)\b|forcen?|force-pushen|forzad[oa]s?|push forzados?`,
      '强推|强制推送|強制プッシュ|強制push|フォースプッシュ|force ?push',
    ),
    command: /^git push\b.*(?:\s(?:--force\S*|-f|-\w*f\w*)(?=\s|$)|\s\+\S)/u,
    isTelling: true,
  },
  {
    action: 'push',
    words: words(
      String.raw`push(?:es|ed|ing)?|pushen|gepusht|pushe|pushees|subas|subir|súbel[aeo]s?|empujes`,
      'プッシュ|推送|push',
    ),
    command: /^git push\b/u,
    tool: /^push/u,
    isTelling: true,
  },
  {
    action: 'commit',
    words: words(
      String.raw`commit(?:s|ted|ting)?|committen|committe|committet|commitees|commitear|--no-verify`,
      'コミット|提交|commit',
    ),
    command: /^git commit\b/u,
    tool: /^commit/u,
    isTelling: true,
  },
  {
    action: 'merge',
    words: words(String.raw`merg(?:e|es|ed|ing)|mergen|fusion(?:es|ar)`, 'マージ|合并|merge'),
    command: /^(?:git merge\b|gh pr merge\b|glab mr merge\b)/u,
    tool: /merge/u,
    isTelling: true,
  },
  {
    action: 'rebase',
    words: words(String.raw`rebas(?:e|es|ed|ing)|rebasen|rewrite (?:the )?(?:git )?history`, 'リベース|变基|rebase'),
    command: /^git (?:rebase|filter-branch|commit\b.*\s--amend)\b/u,
    isTelling: true,
  },
  {
    action: 'deploy',
    words: words(
      String.raw`deploy(?:s|ed|ing|ments?)?|deployen|rollouts?|roll(?:ing)? out|ship(?:ping)?|ausrollen|ausgerollt|einspiel\p{L}*|eingespielt|aufspiel\p{L}*|releas(?:e|es|ed|ing)|despleg\p{L}*|despli\p{L}*`,
      'デプロイ|リリース|部署|上线|发布到',
    ),
    command:
      /^(?:kubectl\b.*\b(?:apply|rollout(?! (?:status|history))|set image|replace|scale|patch)\b|helmfile\b.*\b(?:apply|sync|destroy)\b|argocd app sync\b|skaffold (?:run|deploy)\b|docker stack deploy\b|helm\b.*\b(?:upgrade|install)\b|terraform (?:-\S+ )?(?:apply|destroy)\b|(?:fly|flyctl|vercel|netlify|serverless|sls|cdk|pulumi|gcloud|eb|heroku|wrangler|cap)\b.*(?:\b(?:deploy|up|release)\b|--prod)|vercel$|(?:make|just|npm run|pnpm(?: run)?|yarn(?: run)?|rake|bundle exec cap) (?:deploy|release|rollout)[\w:-]*(?=\s|$)|(?:bash |sh |\.\/)?\S*deploy\S*\.(?:sh|py|mjs|js|ts)\b|ansible-playbook\b|\.\/(?:bin\/|scripts\/)?deploy\b)/u,
    tool: /deploy|release|rollout/u,
    isTelling: true,
  },
  {
    action: 'publish',
    words: words(String.raw`publish(?:es|ed|ing)?|veröffentlich\p{L}*|publi(?:ques|car|que|ca)`, '公開|发布|publish'),
    command:
      /^(?:(?:npm|pnpm|yarn|bun)\b.*\bpublish\b|twine upload\b|(?:uv|poetry|cargo|flit|hatch) publish\b|gem push\b|docker push\b|gh release create\b)/u,
    tool: /publish/u,
    isTelling: true,
  },
  {
    action: 'install',
    words: words(
      String.raw`install(?:s|ed|ing)?|(?:new |additional |another )?(?:dependenc(?:y|ies)|packages?|crates?)|(?:new|add|adding|adds|additional|another) (?:a |an |any |another |new )*(?:librar(?:y|ies)|gems?)|abhängigkeit(?:en)?|pakete?|(?:neue|weitere) bibliothek(?:en)?|installier\p{L}*|dependencias?|paquetes?|(?:nuevas?|añad\p{L}+|agreg\p{L}+) (?:un |una |otra )?(?:librer[ií]as?|bibliotecas?)|instal\p{L}+`,
      '依存(?:関係|パッケージ)?|パッケージ|ライブラリ(?=[をの](?:追加|導入))|(?:追加|導入)ライブラリ|インストール|依赖|(?:新增|添加|引入|加)(?:新的?)?(?:第三方)?库|安装',
    ),
    command:
      /^(?:(?:npm|pnpm|bun|yarn)\s+(?:i|install|add)\s+(?:-\S+\s+)*(?!-)\S|yarn add\b|(?:python3? -m )?pip3? install\s+(?!.*(?<!\S)(?:-r|-e|--requirement)\b)(?:-\S+\s+)*(?![-.])\S|(?:uv|poetry|cargo|bundle|dotnet|composer)\s+(?:add|require)\s|uv pip install\s+(?!.*(?<!\S)(?:-r|-e)\b)\S|go get\b|(?:apt|apt-get|brew|gem|dnf|yum|apk)\b.*\b(?:install|add)\b)/u,
    isTelling: true,
  },
  {
    action: 'restart',
    words: words(
      String.raw`restart(?:s|ed|ing)?|reboot(?:s|ing)?|stop (?:the )?(?:service|server)|neu ?start\p{L}*|reinici\p{L}+`,
      '再起動|重启',
    ),
    command:
      /^(?:systemctl (?:restart|stop|reload)\b|service \S+ (?:restart|stop)\b|docker(?:[ -]compose)? (?:restart|stop|kill|down)\b|kubectl rollout restart\b|pm2 (?:restart|stop)\b|reboot\b|shutdown\b|supervisorctl (?:restart|stop)\b)/u,
    tool: /restart|reboot/u,
    isTelling: true,
  },
  {
    action: 'migrate',
    words: words(
      String.raw`migrat(?:e|es|ing|ions?)|migration(?:en|s)|migrier\p{L}*|migraci(?:ón|ones)|migr(?:es|ar)`,
      'マイグレーション|マイグレート|数据库迁移|迁移',
    ),
    command:
      /^(?:prisma (?:migrate (?:dev|deploy|reset)|db push)|(?:(?:npx|pnpm|yarn|bunx?|npm exec|pnpm exec|pnpm dlx)(?: --)? )prisma (?:migrate (?:dev|deploy|reset)|db push)|alembic (?:upgrade|downgrade)|(?:bin\/)?(?:rails|rake) db:(?:migrate|rollback|reset)|knex migrate:(?:latest|up|down|rollback)|flyway\b.*\b(?:migrate|undo)|liquibase\b.*\bupdate|goose\b.*\b(?:up|down)|migrate\b.*\b(?:up|down)|(?:python3? )?(?:\.\/)?manage\.py migrate|(?:php )?artisan migrate|dotnet ef database update|sqlx migrate run|diesel migration run|drizzle-kit (?:migrate|push)|(?:make|just|npm run|pnpm(?: run)?|yarn(?: run)?) (?:db[:-])?migrate)(?![\w-])/u,
    tool: /migrat/u,
    isTelling: true,
  },
  {
    action: 'send',
    words: words(
      String.raw`send(?:s|ing)?|sent|gesendet|geschickt|e?-?mail(?:s|ing)?|messag(?:e|es|ing)|post(?:s|ing)? (?:to|in)|notify|contact|receiv(?:e|es|ing)|erhalten|erhält|recib\p{L}+|write to (?:the )?(?:customers?|clients?)|(?:ver|ab|raus|weg)?schick\p{L}*|send(?:e|en|et)|versend\p{L}*|versandt|abgesendet|envoy\p{L}*|envoi\p{L}*|env[ií]\p{L}+|mand(?:es|ar)|correos?`,
      '送信|送ら|送って|メール|发送|发给|发邮件|邮件',
    ),
    isTelling: true,
    command: /^(?:sendmail|mail|mutt|swaks)\b/u,
    tool: /send|mail|sms|notify|post_?message|slack/u,
  },
  {
    action: 'pay',
    words: words(
      String.raw`refund(?:s|ed|ing)?|pay(?:s|ing|ments?)?|charg(?:e|es|ing)|transfer(?:s|ring)?|credit(?:s)?|spend(?:ing)?|discounts?|vouchers?|erstatt\p{L}*|zahl(?:en|e|ung|ungen)|gutschrift(?:en)?|überweis\p{L}*|reembols\p{L}*|pag(?:os?|ar|ues)|abon(?:ar|o|os)|descuentos?`,
      '返金|支払|振込|割引|退款|付款|转账|折扣',
    ),
    tool: /refund|pay|charge|transfer|credit|discount|voucher/u,
  },
  {
    action: 'delete',
    words: words(
      String.raw`delet(?:e|es|ed|ing)|remov(?:e|es|ed|ing)|drop(?:s|ped|ping)?|truncat\p{L}*|eras(?:e|es|ing)|wip(?:e|es|ing)|purg(?:e|es|ing)|destroy(?:s|ing)?|clean(?: up)?|l[öo]sch\p{L}*|entfern\p{L}*|wegwerf\p{L}*|borr\p{L}+|elimin\p{L}+|quit(?:es|ar)`,
      '削除|消さ|消し|消す|消去|删除|删掉|删|清空|清除',
    ),
    command:
      /^(?:rm|rmdir|unlink|shred|dropdb|del|remove-item)\b|^git (?:branch (?:.*\s)?-[dD]\b|push\b.*\s--delete\b|tag -d\b|clean\b|rm\b)|^(?:kubectl delete|terraform destroy|docker (?:rm|rmi|volume rm|system prune)|aws s3 r[mb]|gsutil rm|helm (?:uninstall|delete))\b|^find\b.*-delete\b/u,
    tool: /delete|remove|drop|erase|purge|destroy/u,
  },
  {
    action: 'run',
    words: words(
      String.raw`run(?:s|ning)?|execut(?:e|es|ing)|call(?:s|ing)?|invok(?:e|es|ing)|launch|start|ausführ\p{L}*|führ\p{L}*|lass(?:e|t)?|starte?n?|ejecut\p{L}+|corr(?:as|er)|lanc\p{L}+|pas(?:a|ar|es)`,
      '実行|走らせ|起動|运行|执行|跑',
    ),
  },
  {
    action: 'read',
    words: words(
      String.raw`read(?:s|ing)?|open(?:s|ing)?|look (?:at|into)|view|print|cat|lies|lesen|öffn\p{L}*|anschau\p{L}*|leas|leer|abr(?:as|ir)|mir(?:es|ar)`,
      '読ま|読み|読む|読ん|開か|開く|见|读取|读|打开|查看',
    ),
  },
  {
    action: 'use',
    words: words(
      String.raw`us(?:e|es|ed|ing)|connect(?:s|ing)? to|talk to|query|access|verwend\p{L}*|benutz\p{L}*|nutz\p{L}*|greif\p{L}*|arbeit\p{L}*|us(?:a|es|ar|amos)|utili\p{L}+|conect\p{L}+|trabaj\p{L}+`,
      '使わ|使い|使う|使っ|使用|接続|用|连接|访问',
    ),
  },
  {
    action: 'change',
    words: words(
      String.raw`touch(?:es|ed|ing)?|modif(?:y|ies|ied|ying)|edit(?:s|ed|ing)?|chang(?:e|es|ed|ing)|alter(?:s|ed|ing)?|writ(?:e|es|ing|ten)(?: to)?|writes|updat(?:e|es|ed|ing)|overwrit\p{L}*|rewrit\p{L}*|mov(?:e|es|ing)|renam(?:e|es|ing)|insert|format|refactor|off[- ]limits|frozen|read[- ]only|hands off|stay (?:away|out)|leave|fass\p{L}*|anfass\p{L}*|angefasst|änder\p{L}*|veränder\p{L}*|geändert|bearbeit\p{L}*|schreib\p{L}*|überschreib\p{L}*|tabu|eingefroren|finger weg|unverändert|rühr\p{L}*|toc(?:ar|a)|toques?|modific?\p{L}+|modifiques?|edit(?:es|ar)|cambi\p{L}+|escrib\p{L}+|congelad[oa]s?|sobrescrib\p{L}+|intocables?|solo lectura|deja (?:en paz|como)`,
      '触ら|触れ|触る|触っ|いじら|変更|編集|書き込|書き換|上書き|凍結|読み取り専用|手を(?:付け|つけ)|修改|改动|更改|改|动|碰|编辑|写入|冻结|只读|覆盖',
    ),
  },
]

const rows: ReadonlyMap<Action, ActionRow> = new Map(ACTIONS.map((row) => [row.action, row]))
const everyWord: ReadonlyMap<Action, RegExp> = new Map(
  ACTIONS.map((row) => [row.action, new RegExp(row.words.source, 'gu')]),
)

/** A text in lower case with a mark in place of the words of an action. */
const withoutAction = (text: string, action: Action, mark: string): string =>
  text.replaceAll(everyWord.get(action) ?? /$^/gu, mark)

/** The same without the words of all actions. */
export const withoutActions = (text: string, mark = ' '): string =>
  ACTIONS.reduce((rest, { action }) => withoutAction(rest, action, mark), text)

/** The actions that a text names. A word counts for one action only. */
export function actionsIn(text: string): Action[] {
  let rest = text.toLowerCase()
  return ACTIONS.flatMap(({ action, words: named }) => {
    if (!named.test(rest)) return []
    rest = withoutAction(rest, action, ' ')
    return [action]
  })
}

/** The object at the end of a Spanish infinitive: `subirlo`. */
const SPANISH_OBJECT = /(?<=\p{L}[aei]r)(?:me|te|se|nos)?l[aeo]s?(?!\p{L})/gu

/** Whether a text names an action. */
export const namesAction = (text: string, action: Action): boolean =>
  rows.get(action)?.words.test(text.toLowerCase().replaceAll(SPANISH_OBJECT, '')) === true

/** Whether a word in the name of a tool is an action. */
export const isNameOf = (word: string, action: Action): boolean =>
  rows.get(action)?.tool?.test(word) === true || withoutAction(word, action, '') === ''

/** Whether a call that does one action does another too: deleting is changing. */
export const includes = (wanted: Action, done: ReadonlySet<Action>): boolean => {
  if (done.has(wanted)) return true
  if (wanted === 'change') return done.has('delete')
  if (wanted === 'push') return done.has('forcePush')
  return false
}
