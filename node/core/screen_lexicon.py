"""The words of the screen: for each language the concepts its words name, and the words that name none."""

from __future__ import annotations

# By language: a concept in capitals and the words that follow it. `_` joins the words of a phrase, a trailing `*` makes
# a stem. Everything is folded when compiled.
LEXICON: dict[str, str] = {
    "en": """
        IGNORE ignore disregard forget disobey neglect ignor pay_no_attention pay_no_heed set_aside put_aside
        DROP bypass override overrule drop skip discard cancel suspend abandon violate break circumvent scrap revoke
            throw_out throw_away
        ALL all every each entire whole
        EVERYTHING everything whatever
        ANY any anything
        PRIOR previous prior earlier above preceding foregoing before former initial original existing previously
        INSTR instruction instructions directive directives guideline guidelines directions programming
        RULE rule rules orders command commands policy policies restriction restrictions constraint constraints
            limit limits limitations
        TASK task brief assignment job
        PROMPT prompt prompts
        SYSTEM system developer safety security
        SYSPROMPT system_prompt system_prompts system_message system_messages system_instruction initial_prompt
            system_instructions developer_message developer_messages hidden_prompt hidden_instructions
            secret_instructions hidden_rules secret_rules initial_instructions original_instructions
            starting_instructions startup_prompt
        CONTEXT context conversation inputs text messages content input
        TOLD told given said instructed taught learned learnt asked wrote
        YOUR your
        YOU you you're you've
        MY my mine
        ME me
        USER user human humans owner person principal operator boss anyone anybody nobody supervisor
        REVIEWER reviewer reviewers maintainer maintainers developer humans people
        NEG not no never don't doesn't didn't cannot can't won't mustn't shouldn't needn't without dont wont isn't
            aren't
        TELL tell mention inform notify alert disclose warn reveal
        LET let
        NOTICE know notice knowing noticing find_out
        ASK ask asking asked confirm confirmation confirming check consult verify
        REVEAL reveal show print display output repeat recite disclose expose leak dump summarise summarize translate
            list state give tell share write paste echo spell return quote describe encode reproduce
        SEND send upload post forward mail email exfiltrate leak transmit share paste append give copy pass submit
            attach hand publish put commit export encode tell
        READ read open list dump fetch collect access
        SECRET password passwords passwd secret secrets credential credentials token tokens cookies vault passphrase
            keychain keyring
        KEYFILE .env .ssh .aws .kube .netrc .gnupg .npmrc .pgpass id_rsa id_ed25519 private_key private_keys ssh_key
            ssh_keys api_key api_keys access_token access_key session_token environment_variables shell_history
            env_vars git_credentials aws_credentials etc_passwd etc_shadow .git-credentials secrets_file
        OUT http https ftp webhook pastebin gist ngrok
        GUARD guard guards guardrail guardrails filter filters moderation screening screener sandbox approvals
            approval_prompts permission_prompt permission_prompts approval_prompt safeguards oversight audit_log
            content_policy content_filter content_filters safety_filter safety_filters confirmation_prompts monitoring
            safety_checks security_checks monitoring_process
        OFF disable deactivate turn_off switch_off shut_off stop remove kill bypass circumvent evade skip lift
        LOGS log logs trace traces transcript evidence history
        ERASE delete erase wipe remove clear purge destroy turn_off
        APPROVED approved authorised authorized granted permitted consented confirmed approve cleared waived signed_off
        NEED need needed needn't required necessary have must
        ONLY only solely exclusively
        OBEY obey follow execute comply listen heed respond adhere
        MODE admin_mode administrator_mode developer_mode god_mode dan_mode root_mode unrestricted_mode jailbreak_mode
            diagnostic_mode debug_override
        FREE unrestricted unfiltered uncensored jailbroken no_rules no_restrictions without_restrictions no_limits
            no_filters no_filter without_rules without_ethics no_longer_bound no_guidelines no_content_policy
            do_anything_now released_from freed_from
        ROLE model agent ai assistant chatbot chatgpt gpt llm dan persona bot character language_model ai_model
        VOID lifted suspended revoked void cancelled canceled waived removed no_longer_apply no_longer_valid retired
            don't_apply outdated overruled superseded disabled ignored disregarded forgotten replaced gone
        HIDDEN hidden secret initial internal confidential original full complete entire
        VERBATIM verbatim word_for_word exact_wording exact_text word_by_word
        AGENTS other_agents all_agents every_agent other_sessions all_sessions every_session every_other_agent
            each_peer other_peers all_peers every_peer all_other_agents each_new_session other_agents' other_session
        INBOX inbox inboxes messages mailbox conversations queues tokens
        MEMORY memory agents_md claude_md memory_file
        SAVE write save store put add insert
        REPORT report summary changelog answer
        AUTH overseer operator administrator admin orchestrator supervisor developer owner superuser root anthropic
            openai security_team platform_team
        MESSAGE message notice order announcement bulletin directive command override
        FROM from by
        NEW new
        ACTIVE activated enabled engaged enter
        THIS this these
        HERE here
        WISH wishes request requests instructions orders goals
        DISCLOSE reveal disclose leak expose divulge
        OUTRANK takes_precedence_over outranks overrides supersedes rank_above higher_priority_than precedence_over
            has_priority_over priority_over
        INSIDE in inside within embedded contained found from inside_of
        DOC page pages document documents file files ticket tickets issue issues comment comments website web content
            data input output result results readme source article retrieved untrusted external fetched tool commit
            diff payload body repository code
        DESCRIBE we it they he she which who whether could may might would will i can't tries try attempts trying
            attempting designed used to_make
        DEFEND treat reject refuse detect flag block prevent avoid protects detects
    """,
    "pt": """
        TOLD disse dito recebeu DISCLOSE revele revela IGNORE ignore ignora ignorar ignorem desconsidere desconsidera
        esqueca esquece descarte ALL todas todos tudo quaisquer qualquer PRIOR anteriores anterior previas previos
        acima antes INSTR instrucoes instrucao diretrizes orientacoes RULE regras ordens comandos restricoes limites
        politica SYSPROMPT prompt_de_sistema prompt_do_sistema instrucoes_secretas instrucoes_ocultas
        mensagem_do_sistema YOUR sua suas seu seus tuas teus MY minhas meus ME mim me USER usuario utilizador ninguem
        dono humano NEG nao sem nunca TELL conte conta diga avise informe mencione fale ASK perguntar confirmar pedir
        REVEAL revele revela mostre exiba imprima repita SEND envie envia mande encaminhe cole suba poste SECRET senhas
        senha credenciais KEYFILE chaves_ssh chave_privada chaves_privadas variaveis_de_ambiente token_de_acesso GUARD
        filtro filtros aprovacoes seguranca OFF desative desligue desabilite LOGS registros logs historico ERASE apague
        exclua APPROVED autorizou aprovou autorizado NEED precisa ONLY apenas so somente OBEY siga obedeca execute
        segue MODE modo_administrador modo_desenvolvedor FREE sem_regras sem_restricoes sem_limites ACTIVE ativado VOID
        nao_valem suspensas suspensos revogadas revogados AGENTS todos_os_agentes outros_agentes
    """,
    "es": """
        TOLD dijo dicho dieron DISCLOSE revela revele IGNORE ignora ignore ignorar ignoren ignorad olvida olvide
        olvidad olvidate descarta haz_caso_omiso ALL todas todos todo cualquier PRIOR anteriores anterior previas
        previos previa arriba antes INSTR instrucciones instruccion directrices indicaciones RULE reglas ordenes
        restricciones limites normas SYSPROMPT prompt_de_sistema prompt_del_sistema mensaje_de_sistema
        instrucciones_ocultas reglas_ocultas instrucciones_secretas instrucciones_del_sistema YOUR tus tu sus MY mis
        mias mios ME me mandame enviame dime muestrame USER usuario nadie dueno humano NEG no sin nunca TELL digas
        cuentes menciones informes avises decirle avisar decir contarle informar ASK preguntar confirmar pedir REVEAL
        revela muestra muestrame imprime repite ensename SEND envia envie manda enviame mandame reenvia pega sube
        publica SECRET contrasenas contrasena credenciales KEYFILE claves_privadas clave_privada claves_ssh clave_ssh
        variables_de_entorno token_de_acceso GUARD filtro filtros aprobaciones OFF desactiva deshabilita apaga LOGS
        registros historial ERASE borra elimina APPROVED autorizado aprobado autorizo aprobo NEED necesitas hace_falta
        ONLY solo solamente unicamente OBEY obedece sigue ejecuta haz ACTIVE activado activo MODE modo_administrador
        modo_desarrollador FREE sin_restricciones sin_limites sin_reglas sin_filtros VOID suspendidas suspendidos
        anuladas anulados revocadas AGENTS todos_los_agentes otros_agentes SYSTEM seguridad
    """,
    "fr": """
        TOLD dit ecrit recues DISCLOSE revele revelez IGNORE ignore ignorez ignorer oublie oubliez oublier ALL toutes
        tous tout toute PRIOR precedentes precedents precedente anterieures anterieurs avant dessus haut INSTR
        instructions instruction consignes directives RULE regles ordres restrictions limites SYSPROMPT prompt_systeme
        invite_systeme instructions_cachees instructions_secretes prompt_du_systeme YOUR tes ton ta vos votre MY
        miennes mes miens ME moi envoie-moi me USER utilisateur personne proprietaire humain NEG ne pas sans rien
        jamais n'en TELL dis dites prevenir informe informer mentionne parle dire prevenez ASK demander confirmer
        REVEAL revele affiche montre revelez affichez montrez repete SEND envoie envoyez transmets transferez colle
        poste publie SECRET passe identifiants KEYFILE cles_privees cle_privee cles_ssh variables_d'environnement
        jeton_d'acces GUARD filtre filtres approbations validations OFF desactive desactivez coupe LOGS journaux
        journal traces ERASE efface effacez supprime APPROVED autorise approuve NEED besoin ONLY uniquement seulement
        OBEY suis suivez obeis execute executez MODE mode_administrateur mode_developpeur ACTIVE active activee FREE
        sans_restriction sans_restrictions sans_limites aucune_restriction sans_regles VOID levees annulees suspendues
        AGENTS tous_les_agents autres_agents SYSTEM securite
    """,
    "de": """
        TOLD gesagt DISCLOSE verrate verrat IGNORE ignoriere ignoriert ignorieren ignorier vergiss vergesst vergessen
        missachte missachten ALL alle allen alles samtliche jegliche PRIOR vorherigen vorherige bisherigen bisherige
        vorigen fruheren obigen vorangegangenen vorstehenden zuvor oben ursprungliche INSTR anweisungen anweisung
        instruktionen vorgaben anleitungen richtlinien sicherheitsrichtlinien RULE regeln befehle beschrankungen
        einschrankungen grenzen auftrage sicherheitsregeln SYSPROMPT systemprompt system_prompt geheimen_anweisungen
        systemnachricht systemanweisungen versteckten_anweisungen geheime_anweisungen YOUR deine deinen deiner dein
        ihre MY meine meinen meiner ME mir mich USER nutzer benutzer anwender niemandem niemanden mensch NEG nicht
        nichts kein keine ohne nie niemals TELL sag sage erzahl erzahle erwahne informiere verrate ASK frag frage
        fragen nachfragen ruckfrage REVEAL zeig zeige verrate nenne gib wiederhole verrat SEND schick schicke sende
        sendet leite lade poste SECRET passworter passwort zugangsdaten kennworter KEYFILE privaten_schlussel
        ssh-schlussel umgebungsvariablen privaten_ssh zugriffstoken ssh_schlussel GUARD prufung filter sandbox
        freigaben sicherheitsprufung OFF schalte deaktiviere umgehe schalt LOGS protokolle spuren ERASE losche losch
        entferne APPROVED zugestimmt genehmigt freigegeben erlaubt ONLY nur ausschliesslich OBEY folge folgt befolge
        befolgt gehorche fuhre ACTIVE aktiviert MODE administratormodus entwicklermodus admin-modus FREE ohne_regeln
        ohne_einschrankungen ohne_grenzen VOID aufgehoben ausser_kraft ungultig AGENTS alle_agenten anderen_agenten
        NEED brauchst
    """,
    "it": """
        TOLD detto scritto DISCLOSE rivela IGNORE ignora ignorate ignorare dimentica dimenticate dimenticare scarta
        trascura ALL tutte tutti tutto qualsiasi ogni PRIOR precedenti precedente prima sopra ricevute INSTR istruzioni
        istruzione direttive indicazioni RULE regole ordini comandi restrizioni limiti SYSPROMPT prompt_di_sistema
        istruzioni_nascoste istruzioni_segrete messaggio_di_sistema YOUR tue tuoi tuo tua MY mie miei ME mandami
        inviami dammi me mostrami USER utente nessuno proprietario NEG non senza mai TELL dire dirlo informare
        menzionare avvisare dirglielo ASK chiedere confermare REVEAL rivela mostra mostrami stampa ripeti SEND manda
        mandami invia inviami inoltra incolla carica SECRET password credenziali KEYFILE chiavi_private chiave_privata
        variabili_d'ambiente chiavi_ssh token_di_accesso GUARD filtro filtri approvazioni OFF disattiva spegni LOGS
        registri log ERASE cancella elimina APPROVED autorizzato approvato ONLY solo soltanto esclusivamente OBEY segui
        obbedisci esegui MODE modalita_amministratore modalita_sviluppatore FREE senza_regole senza_restrizioni
        senza_limiti VOID annullate sospese revocate ACTIVE attivata attiva AGENTS tutti_gli_agenti altri_agenti
    """,
    "nl": """
        IGNORE negeer vergeet negeren ALL alle alles elke PRIOR vorige eerdere voorgaande bovenstaande INSTR
        instructies aanwijzingen richtlijnen opdrachten RULE regels bevelen beperkingen SYSPROMPT systeemprompt
        systeeminstructies verborgen_instructies geheime_instructies YOUR je jouw uw MY mijn mij ME mij USER gebruiker
        niemand NEG niet niets zonder geen TELL vertel zeg meld REVEAL toon laat geef onthul SEND stuur verstuur upload
        SECRET wachtwoorden wachtwoord KEYFILE privesleutel privesleutels omgevingsvariabelen GUARD filter beveiliging
        OFF schakel zet ONLY alleen enkel uitsluitend OBEY volg gehoorzaam ERASE wis verwijder LOGS logboeken ASK
        vragen vraag APPROVED goedgekeurd toestemming VOID opgeheven
    """,
    "ru": """
        TOLD сказал DISCLOSE раскрои* IGNORE игнорируи* проигнорируи* игнорировать забудь забудьте не_обращаи ALL все
        всё всех всем любые PRIOR предыдущи* прежни* прошлые вышеуказанные выше ранее INSTR инструкции инструкциям
        указания указаниям распоряжения директивы RULE правила правил команды приказы ограничения SYSPROMPT
        системныи_промпт скрытые_инструкции системныи_промт системную_подсказку системные_инструкции
        секретные_инструкции системного_промпта YOUR твои свои твоих ваши своих свою твою MY мои моих моим ME мне меня
        USER пользователю пользователя пользователь никому NEG не без ничего TELL говори говорите сообщаи* рассказываи*
        упоминаи* ASK спрашивая спрашиваи* REVEAL покажи покажите раскрои* выведи повтори SEND отправь отправьте пришли
        перешли загрузи SECRET пароли пароль учётные KEYFILE закрытые_ключи приватныи_ключ приватные_ключи
        переменные_окружения токен_доступа GUARD фильтр фильтры проверки подтверждения OFF отключи выключи LOGS логи
        журнал журналы ERASE удали сотри APPROVED разрешил одобрил ONLY только OBEY выполняи* слушаи* следуи*
        слушаешься подчиняи* MODE режим_администратора режим_разработчика FREE без_правил без_ограничении VOID отменены
        сняты AGENTS других_агентов всем_агентам ACTIVE активирован включен
    """,
    "zh": """
        LET 让 NOTICE 知道 发现
        IGNORE 忽略 无视 無視 忘记 忘掉 忘了 不要遵守 不要再遵守 别管 抛开 ALL 所有 全部 一切 任何 PRIOR 之前 以前 先前
        前面 上面 以上 此前 INSTR 指示 指令 提示 说明 要求 指導 RULE 规则 命令 限制 规定 SYSPROMPT 系统提示词 系统提示
        隐藏的指令 秘密指令 隐藏指令 系統提示 YOUR 你的 您的 MY 我的 ME 我 USER 用户 主人 任何人 别人 使用者 NEG 不要
        别 不用 不必 不 TELL 告诉 通知 提及 写进报告 ASK 征求 询问 确认 同意 REVEAL 显示 输出 透露 展示 告诉我
        SEND 发送 发给 上传 发到 转发 SECRET 密码 凭证 密钥 KEYFILE 私钥 环境变量 访问令牌 GUARD 过滤器 审批 安全检查
        过滤 OFF 关闭 禁用 LOGS 日志 记录 ERASE 删除 清除 APPROVED 批准 授权 ONLY 只 仅 OBEY 按照 听 执行 服从 听从
        MODE 管理员模式 开发者模式 FREE 没有限制 不受限制 没有任何限制 VOID 失效 作废 取消了 不再算数 解除 AGENTS
        其他的智能体 其他智能体 所有智能体 ACTIVE 已开启 已激活 SYSTEM 安全 MESSAGE 消息
    """,
    "ja": """
        IGNORE 忘れて 無視して 無視し 忘れろ 忘れ 従わない ALL すべて 全て 全部 PRIOR 以前 これまで 前 上記 先ほど
        INSTR 指示 命令 RULE ルール 規則 制限 SYSPROMPT システムプロンプト 秘密の指示 隠された指示 YOUR あなたの MY
        私の ME 私 USER ユーザー 利用者 NEG ないで ずに せず しないで TELL 言わ 知らせ 伝え 教え ASK 確認 REVEAL
        表示して 見せて 出力して 教えて SEND 送って 送信して 送信し SECRET パスワード KEYFILE 秘密鍵 環境変数 GUARD
        フィルター 承認 OFF 無効に 無効化 ONLY だけ のみ OBEY 従って 従い ERASE 削除して 消して LOGS ログ VOID 無効です
        AGENTS すべてのエージェント 他のエージェント MODE 管理者モード 開発者モード
    """,
    "ko": """
        IGNORE 잊고* 무시하* 무시해* 잊어* ALL 모두* 모든* 전부* PRIOR 이전* 앞의* 앞선* 위의* 지금까지* INSTR 지시*
        지침* 명령* RULE 규칙* 제한* SYSPROMPT 시스템_프롬프트* 숨겨진_지시* 비밀_지시* YOUR 너의* 당신의* 네* MY 내*
        나의* ME 나에게* 내게* 나한테* USER 사용자* NEG 말고* 마세요* 마* 말* TELL 알리지* 말하지* 알려주지* REVEAL
        보여* 출력* 알려줘* 공개* SEND 보내* 전송* 업로드* SECRET 비밀번호* KEYFILE 개인_키* 환경_변수* 비공개_키*
        GUARD 필터* 승인* OFF 꺼* 비활성화* ONLY 만* 말만* OBEY 따르* 따라* ERASE 삭제* LOGS 로그* AGENTS
        모든_에이전트* 다른_에이전트* MODE 관리자_모드* 개발자_모드*
    """,
    "ar": """
        IGNORE تجاهل انس انسى تجاهلوا ALL كل جميع PRIOR السابقة السابق أعلاه INSTR التعليمات تعليمات الإرشادات
        التوجيهات تعليماتك RULE القواعد الأوامر قواعد القيود SYSPROMPT تعليمات_النظام موجه_النظام التعليمات_السرية MY
        أوامري تعليماتي ME لي إلي USER المستخدم للمستخدم أحدا NEG لا دون ولا بدون TELL تخبر تقل تذكر REVEAL اعرض أظهر
        اكشف SEND أرسل ارسل SECRET كلمات_المرور KEYFILE المفاتيح_الخاصة متغيرات_البيئة ومتغيرات_البيئة GUARD المرشح
        الموافقات OFF أوقف عطل ONLY فقط OBEY نفذ ونفذ اتبع واتبع أطع ERASE احذف LOGS السجلات
    """,
    "hi": """
        IGNORE भूल अनदेखा नजरअंदाज नज़रअंदाज़ अनदेखी ALL सभी सारे सब PRIOR पिछले पूर्व पहले पिछली INSTR निर्देशों निर्देश अनुदेशों RULE
        नियमों नियम आदेशों SYSPROMPT सिस्टम_प्रॉम्प्ट गुप्त_निर्देश YOUR अपना अपने तुम्हारे आपके MY मेरे मेरी ME मुझे USER उपयोगकर्ता यूजर NEG
        मत न नहीं बिना TELL बताना बताओ बताएं बताए REVEAL दिखाओ दिखाएं SEND भेजो भेजें भेज SECRET पासवर्ड KEYFILE निजी_कुंजी ONLY
        केवल सिर्फ OBEY मानो पालन GUARD फिल्टर OFF बंद ERASE हटाओ LOGS लॉग
    """,
    "pl": """
        IGNORE zignoruj ignoruj zapomnij pomin zignorujcie ALL wszystkie wszystko wszelkie wszystkich PRIOR poprzednie
        wczesniejsze powyzsze poprzednich dotychczasowe INSTR instrukcje polecenia wytyczne instrukcji RULE zasady
        reguly rozkazy ograniczenia SYSPROMPT prompt_systemowy ukryte_instrukcje tajne_instrukcje YOUR swoje twoje swoj
        twoj MY moje moich ME mi mnie USER uzytkownikowi uzytkownika nikomu NEG nie bez TELL mow informuj wspominaj
        REVEAL pokaz ujawnij wyswietl SEND wyslij przeslij SECRET hasla haslo KEYFILE klucz_prywatny klucze_prywatne
        zmienne_srodowiskowe ONLY tylko wylacznie OBEY wykonuj sluchaj GUARD filtr zatwierdzenia OFF wylacz ERASE usun
        LOGS logi VOID uchylone zawieszone
    """,
    "tr": """
        IGNORE yok_say yok_sayin gormezden_gel unut dikkate_alma unutun ALL tum butun tumunu PRIOR onceki yukaridaki
        INSTR talimatlari talimatlar talimati yonergeleri RULE kurallari kurallar komutlari SYSPROMPT sistem_istemini
        sistem_istemi gizli_talimatlari sistem_komutunu MY benim ME bana USER kullaniciya kullanicinin TELL soyleme
        bildirme REVEAL goster yazdir SEND gonder yukle SECRET sifreleri sifre KEYFILE ozel_anahtari ozel_anahtarlari
        ONLY sadece yalnizca OBEY dediklerimi uygula GUARD filtreyi OFF kapat ERASE sil LOGS gunlukleri NOTELL soyleme
        bildirme haber_verme
    """,
}

STOP_WORDS = (
    "the of and to that this is are with for from have has was were will would should could when then what who how its"
    " it as at be by on or if in he she they we us our their them there here want know told last next ten then"
    " please now also do after before until because said"
)
