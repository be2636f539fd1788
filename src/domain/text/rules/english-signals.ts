/** Signs of a standing rule in English, and signs against one. */
import { APPROVAL, DAYS, MONTHS, NUMBER, TONGUE, WIPE, WIPED } from './english-words.js'
import { opening, signal, type Signal } from './signals.js'

/** Verbs of work, as an imperative has them. */
const ORDERS =
  'abort|accept|add|alert|bail out|cancel|halt|page|ping|retry|roll back|terminate|wake|address|answer|apply|archive|ask|assign|assume|attach|avoid|back up|base|bill|blank|block|book|bounce|bring|bundle|buy|call|cap|change|charge|check|choose|clean|clear|close|collect|commit|confirm|consult|contact|copy|count|cover|crop|cut|date|decline|default|delete|deliver|deploy|direct|discard|do|draft|drop|encrypt|enter|escalate|export|favou?r|fetch|file|fill|flag|flush|follow|format|forward|freeze|get|give|go|grant|hand|have|hide|hold|honou?r|import|include|inform|install|invoice|issue|keep|label|lead|leave|let|limit|link|list|load|lock|log|mail|make|mark|measure|mention|merge|message|move|name|notify|obey|offer|open|order|paste|park|pass|pause|pay|pick|pin|place|plan|point|post|prefer|prefix|prepare|print|publish|pull|purge|push|put|query|quote|raise|reach|rebase|record|redirect|reduce|refer|refuse|reject|release|remember|remove|rename|replace|reply|report|request|require|reserve|respect|respond|restart|restrict|return|reuse|revert|rotate|round|route|run|save|say|schedule|scrub|see|seek|send|serve|set|share|ship|show|shut|sign|skip|sort|speak|spell|spend|squash|stay|stick|stop|store|strip|submit|switch|tag|take|talk|tell|transfer|translate|treat|trim|turn|update|upload|use|validate|verify|wait|wipe|work|wrap|write'
const NO_ORDER = String.raw`(?! (?:of|is|are|was|were|has|had|me (?:about|more)|a look|your (?:dream|heart|best)|up with|care|fun|it)(?!\p{L}))`

export const ENGLISH_SIGNALS: readonly Signal[] = [
  signal(
    'scope',
    3,
    String.raw`every(?:thing|one|body|where)?|each|any(?:thing|one|body|where)|always|never|nothing|nobody|no one|no-one|nowhere|when(?:so)?ever|wher(?:eso)?ever|whatever|whoever|whichever|at all times|regardless(?: of)?|no matter`,
  ),
  signal('scope of a group', 1, 'all|any|none|neither|both|either|ever|in (?:no|any) case'),
  signal(
    'standing',
    4,
    'in no event|by no means|in no way|not under any|full stop|the end of it|no exceptions|without exception|end of story|no ifs|by default|from now on|going forward|until further notice|as a (?:rule|matter of)|on principle|under no|at no (?:time|point)|on no account|no matter (?:how|what|who)|across the board|as standard|until i say|unless (?:i|you hear)|whatever happens',
  ),
  signal(
    'exclusive',
    3,
    String.raw`solely|exclusively|strictly|nothing but|nobody but|no one but|(?:no|any|an|some) other (?:\p{L}+ )?(?:way|place|channel|route|folder|person|account|address|branch|host|table|time|hours?|tool|one)?|exactly one|the one (?:\p{L}+ ){1,3}(?:you|that)|nobody besides|no one besides|just (?:the )?one|sole|nobody else|no one else|nothing else|nowhere else|(?:anywhere|anyone|anything|anybody|somewhere|elsewhere) ?(?:else)?|alone|and that['’]?s (?:it|all|that)|one and only|reserved for|meant for|intended for|in charge of|(?:everything|everyone|everybody|all) else`,
  ),
  signal('only', 2, 'only|just one|per (?!cent)\\p{L}+'),
  signal(
    'limit',
    3,
    String.raw`at (?:most|least)|(?:no|not|never) (?:more|less|fewer|longer|larger|bigger|higher|later|earlier|sooner|older) than|max(?:imum)?|minimum|tops|(?:top|cap|max|cut|level)(?:s|ped|es)? (?:out|off|at)|up to (?:${NUMBER})|ceiling|upper limit|limit(?:ed)? (?:is|to|of|for)|hard limit|cap(?:ped)? (?:is|of|on|at|to|for)|caps?|plenty|(?:is|are|will) (?:quite )?(?:enough|do|suffice)|(?:under|below|within|inside|above|over|beyond|past|exceeds?) (?:the )?(?:${NUMBER})|(?:under|below|within|in under) (?:a|an|half a) \p{L}+|(?:${NUMBER})(?: \S+)? or (?:less|fewer|under|below)|quota|allowance|(?:and )?(?:no|not a \p{L}+) (?:more|later|earlier|longer)|the (?:line|cut-?off) is`,
  ),
  signal(
    'hands off',
    6,
    "(?:is|are|isn['’]t|aren['’]t) (?:not )?for your eyes|(?:is|are) (?:none of your|not your) (?:business|concern|job|department|problem)|(?:paws|mitts|fingers|hands) off|nothing to do with you|you have no business",
  ),
  signal(
    'when X, do Y',
    5,
    String.raw`(?:if|when|once|whenever|should|as soon as|where) (?:the|a|an|any|some\p{L}+|no|two|another|one of|\p{L}{3,}s) [^,?]{4,90}, (?:then |just |please |always )?(?:${ORDERS})${NO_ORDER}(?= )|(?:${NUMBER}) \p{L}+(?: \p{L}+)?, then \p{L}+`,
  ),
  signal(
    'denial until',
    3,
    String.raw`(?:isn['’]t|aren['’]t|not|don['’]t|doesn['’]t|never|nothing|no) (?:\S+ ){0,6}?(?:until|before|unless|without)|(?:smaller|larger|bigger|shorter|longer|fewer|less|more|higher|lower|later|earlier|heavier) than (?:${NUMBER})|(?:stops?|ends?|finish\p{L}*|closes?) at (?:${NUMBER})|waits? (?:until|till)|(?:is|are) for \S+(?: \S+)? only|except for|apart from|all but`,
  ),
  signal(
    'when X, Y is done',
    3,
    String.raw`(?:when|if|once|as soon as|whenever) (?:the|a|an|any) [^,?]{4,80}, (?:the|an|a|it|all|every) [^,]{2,40} (?:is|are|gets?|goes) `,
  ),
  signal(
    'only then, only there, X alone',
    5,
    String.raw`only (?:run|work|start|open|go|get|ship|happen|apply|move|come|sell|print|post|travel|fly|be)\p{L}* (?:\p{L}+ )?(?:after|before|at|on|in|between|during|from|via|through|by|with|to|for)|\p{L}+ alone (?:\p{L}{3,}s|may|can|is|has)|(?:steer|keep|stay)s? (?:well |far )?(?:away|clear|off|out) (?:of|from)|(?:not|n['’]t|never|no) (?:\p{L}+ )?\p{L}+er than|needs? (?:a second|another|two|someone|somebody|a human) \p{L}+`,
  ),
  signal('number', 1, String.raw`(?:${NUMBER})(?: \p{L}+)?`),
  signal(
    'force',
    3,
    String.raw`(?:must|mustn['’]t|shall|shan['’]t|may (?:not|only|never|be)|(?:has|have|need|needs|ought|got) to (?:be|have|go|get|carry|contain|come|stay|run|pass|keep|show|start|end|use|include|sign|approve|okay|confirm|\p{L}+)|(?:is|are|isn['’]t|aren['’]t) (?:not |never |only )?to \p{L}+|(?:is|are|be|stays?) left (?:alone|in peace|as)|untouched|in peace|(?:is|are|isn['’]t|aren['’]t|not|you['’]re|get|gets) (?:not |only |never )?(?:allowed|permitted|authori[sz]ed|cleared|entitled|supposed|expected)|forbidden|prohibited|banned|required|mandatory|compulsory|obligatory|off[- ]limits|no-go|taboo|out of bounds|non-negotiable|not negotiable|a must|closed season|not an option|not acceptable|(?:is|are|stays?|remains?|as|considered?) (?:\\S+ ){0,4}?(?:frozen|locked|read-only|closed)|closed for|hands off|not yours)`,
  ),
  signal(
    'may',
    2,
    String.raw`(?:may|should|shouldn['’]t|can['’]t|cannot|can only|won['’]t|gets? to|wants? to be|is fine|are fine|okay to|free to)`,
  ),
  signal(
    'approval',
    3,
    String.raw`(?:need|require|take|want|get|wait|without|until|before|after|unless|once|has|have)\p{L}*(?: \S+){0,6}? (?:${APPROVAL}|sign\p{L}*|approv\p{L}+|bless\p{L}*|okay\p{L}*|agree\p{L}*|confirm\p{L}*|asks?|says so|nod\p{L}*|consult\p{L}*)|(?:ask|tell|check with|run (?:it|that|this) (?:by|past)|clear (?:it|that|this) with|talk to|consult|ping|come to|show) (?:me|us|\p{L}+) (?:first|before|beforehand)`,
  ),
  opening('order', 2, String.raw`(?:${ORDERS})${NO_ORDER}(?= )`),
  opening('no X', 2, String.raw`no \p{L}+`),
  opening(
    'order: not',
    3,
    String.raw`(?:do not|don['’]?t|never|not|nothing|nobody|neither|only|always|just|all|every|each|any|anything|anyone who|whoever) \p{L}+`,
  ),
  signal(
    'habit',
    2,
    String.raw`(?:get|gets|go|goes|stay|stays|remain|remains|belong|belongs|live|lives|sit|sits|land|lands|come|comes|runs|happen|happens|ships|counts|starts|ends|passes|needs|leaves|carries|uses|waits|travels|expires|sleeps?|rests?|tops|applies|closes|opens|bears|gives)|(?:is|are|be|gets?|isn['’]t|aren['’]t|['’]re|['’]s) (?:\p{L}+ly |always |never |only |not |all )?(?:\p{L}{2,}(?:ed|wn|en|pt|nt|ld|id|ut|left|kept|made|gone|held|done))`,
  ),
  signal(
    'condition',
    1,
    String.raw`(?:if|when|once|as soon as|the (?:moment|minute|day)|unless|until|before|after|while|during|outside(?: of)?|in case|should (?:the|a|an|any)|for as long as|as long as|except|other than|apart from|but for|even (?:if|for|when|in)|especially|without|from \S+(?: \S+)? (?:to|until|till|through))`,
  ),
  signal(
    'standing condition',
    3,
    'as soon as|the (?:moment|minute)|should (?:the|a|an|any)|in case (?:the|a|an|any|of)|outside of|each time|every time|from \\S+(?: \\S+)? (?:until|till) \\S+|from \\S+(?: \\S+)? to \\S+ ?(?:am|pm|eastern|utc|in the|o)|out of the (?:logs?|traces?|repo\\p{L}*|reports?|chat)',
  ),
  signal(
    'time',
    1,
    String.raw`(?:\d{1,2}(?:[:.]\d\d)? ?(?:am|pm|a\.m|p\.m|o['’]?clock|h)|noon|midnight|${DAYS}|${MONTHS}|hours|business days|month[- ]end|quarter)`,
  ),
  signal(
    'contrast',
    3,
    String.raw`(?<=, |; |– |— |and |but )(?:not|never|nor|no)(?! (?:sure|that|only|just|because|really|so|yet|problem|to mention|even close|one)) \S+|instead of|rather than|in place of|as opposed to|over (?:\p{L}+)(?= (?:in|for|when))|not even`,
  ),
  signal(
    'preference',
    4,
    String.raw`i(?:['’]d| would)? (?:much |really )?(?:like|love|appreciate|prefer|want|expect|hate|dislike|rather)(?: it)?(?: (?:have|see|read|get))? (?:if you|you to|when you|it when|that you|your|you|(?:plain|short|small|simple|clear|brief) )|i['’]m (?:happier|happiest)|(?:for|with) me|stick (?:to|with)|would you mind|i don['’]t (?:read|want|like|need) |i['’]d be (?:grateful|glad|happy)|(?:would be|is) (?:nice|great|good|lovely|helpful) if you`,
  ),
  signal('language', 3, String.raw`in (?:${TONGUE})|(?:${TONGUE})(?= (?:with|for|to|in|only|please))`),
  signal(
    'scrub',
    2,
    String.raw`${WIPE}|${WIPED}|asterisks|pixelat\p{L}+|initials|last (?:\p{L}+|\d) (?:digits|characters)|(?:come|comes|go|goes|taken|cut) out of (?:the|all|any|every)|secrets?|passwords?|tokens?|personal data|plain ?text`,
  ),
  signal(
    'work',
    1,
    String.raw`(?:repo\p{L}*|branch\p{L}*|commits?|merge\p{L}*|deploy\p{L}*|release\p{L}*|prod(?:uction)?|staging|database|tables?|schema|migrations?|logs?|tests?|builds?|pipeline|config\p{L}*|servers?|hosts?|folder|director\p{L}+|tickets?|invoices?|customers?|clients?|suppliers?|orders?|refunds?|discounts?|reports?|drafts?|replies|answers?|messages?|emails?|mails?|newsletter|accounts?|backups?|scripts?|jobs?|images?|photos?|patients?|contracts?|payments?|docs|documentation|minutes|exports?|vendor\p{L}*|tenants?|landlord|endpoints?|columns?|names?|numbers?|channels?|bookings?|budget|spend\p{L}*|team|permissions?|access|\S+@\S+|\S*/\S+|#\p{L}\S*|\p{L}+_\p{L}+)`,
  ),
  signal('you', 1, String.raw`(?:you|your|agents?|the bot|the assistant|we|us|our)`),

  signal(
    'against: the speaker',
    -4,
    String.raw`(?:i|we|you|to|user)(?:['’]ll)? (?:definitely |just |really |should )?need to|should definitely|(?:i|we|you) have to|(?<!(?:if|unless|until|when|once|that|before|after|what) )i (?!want|prefer|need|ask|expect|like|say|would|do not|don['’]t|have to|must|never want|hate|dislike|love it|okay|approve|confirm|sign|appreciate)\p{L}+|i['’](?:m|ve|ll) (?!happ|not happ)|(?:he|she)(?:['’]s)?|my (?!ok|approval|say|consent|permission|sign|go|yes|name|inbox|calendar|word|nod|code)\p{L}+|let['’]s|let me (?!know)\p{L}+|they (?:were|had|said|have|are (?:so|very))|it['’]s (?!\p{L}+ (?:in|for)|up to)|that['’]s (?!it|that|the end|final|all)|i think`,
  ),
  signal(
    'against: a rule taken back',
    -12,
    String.raw`(?:may|can|free to|allowed to|okay to) (?:\S+ ){0,8}again|no longer (?:applies|needed|required|forbidden)|(?:lifted|rule is off|forget (?:that|the) rule)`,
  ),
  signal(
    'against: past',
    -12,
    String.raw`(?:all|everything|everyone|every|each) (?:\p{L}+ ){0,3}\p{L}+ed(?! (?:in|by|before|via|through|only|to|on|at|with|as))|was|were|had|did|didn['’]t|went|came|(?<!['’]ve )got|took|ran|wrote|broke|failed|gave|told|said|thought|used to|yesterday|last (?:week|night|month|year|spring|summer|time)|ago|since|been|(?:has|have|\p{L}+['’]ve) (?:\p{L}+ )?\p{L}+ed|\p{L}+ed for me|earlier today|back in`,
  ),
  signal(
    'against: once',
    -5,
    String.raw`(?<!from )now|today|tonight|tomorrow|yet|please (?:proceed|continue|confirm|hold on|go ahead|provide)|(?:this|these|those) (?!(?:repo|project|team|code|job|task|is|includes|applies|goes|means)\p{L}*)\p{L}+|for now|right away|asap|(?:first|second|third|next|last|previous) (?:chart|slide|paragraph|line|page|row|table|image|question|section|test|step|one|sentence|column)|again|quickly|here|above|below|following|new (?:test|file|function|class|method)`,
  ),
  opening(
    'against: a task',
    -4,
    String.raw`we (?:have|can|all|are|want|could|do)|applies to|after each \p{L}+ session|clean up the|set aside|\p{L}+day: |(?:january|february|march|april|may|june|july|august|september|october|november|december) \d+(?:-\d+)?: |review \p{L}+ contract|use assistant|(?:add|create|write|implement|in) (?:a |an |the )?(?:new )?(?:/\p{L}+ )?(?:tests?|params?|commands?|methods?|variables?|flags?|options?|fields?|buttons?|class|init)|any of the|update the|gather|verified|interactive|(?:still |also |just )?need to|please (?!always|never|only|do not|don['’]t|keep|make|use|avoid|write|answer|reply)\p{L}+|yes|no problem|(?:not )at all`,
  ),
  opening(
    'against: a heading of advice',
    -4,
    String.raw`[a-z][a-z -]{2,40}: (?:ensure|make sure|use|set|start|break|take|inform|check|review|include|find|keep track)`,
  ),
  signal(
    'against: guess',
    -4,
    String.raw`you should (?:try|see|visit|come|go|read|check)|(?:nothing|no one|nobody) (?:\p{L}+ ){0,5}(?:explains|shows|found|helps|happens|compares|beats)|probably|maybe|perhaps|seem\p{L}*|looks? like|apparently|guess|might|could|will(?! do)|would(?! be (?:nice|great|good|lovely|helpful) if| you mind| prefer| like| rather| appreciate)|going to|wonder\p{L}*|hope\p{L}*|wish|if you (?:want|need|like|have|are|prefer|would)|actually|because|usually|often|sometimes|typically|generally|likely|however|conversely|possible|(?<!let me )know|(?:which|this|that|it) means|by default, \p{L}+ (?:starts|uses|is|returns|has)`,
  ),
  signal(
    'against: explanation',
    -4,
    String.raw`for example|e\.g\.|such as|allows?|helps?|ensures?|provides?|which|return(?:s|ed)?|represents?|creates?|handles?|makes?|causes?|(?<!wherever |whenever |if |where )you can|using|error|bug|issue|fix\p{L}*|implement\p{L}*|function|class|method|test suite|default value|parameter|argument|probabilit\p{L}+|equal\p{L}*|formula|solution|approach|important|ensure|experience|skills?|improve\p{L}*|effective\p{L}*|interview`,
  ),
  signal(
    'against: feeling',
    -5,
    String.raw`matters?|story|appreciate (?:your|you being|our)|you['’]re (?:absolutely )?right|anything you need|nothing fancy|reminder|tree is|my credit|no matter what\.|motivated|hard work|count on me|competition|paths?|not alone|their trust|sleek|membership|love|happy(?! if)|feel\p{L}*|glad(?! if)|amazing|awesome|wow|haha|thanks for|sorry|worr\p{L}+|excited|proud|fun|friends?|family|mom|dad|kids?|dreams?|life|beautiful|journey|enjoy\p{L}*|yourself|oh|yeah|hey|hi`,
  ),
  signal(
    'against: fact',
    -5,
    String.raw`(?:in|at|during) (?:chess|poker|bridge|go|football|soccer|tennis|golf|cricket|baseball|rugby|snooker|darts|checkers|scrabble|portugal|norway|sweden|ireland|scotland|canada|brazil|poland|greece|turkey|holland|belgium|denmark|finland|australia|theory|general|mathematics)|leap years?|see \S+ in|according to|free accounts?|its (?:source|code)|the (?:docs|manual|law|spec|standard) (?:says?|states?)|by law|on that site|uuids?|ip addresses|planets?|animals?`,
  ),
]
