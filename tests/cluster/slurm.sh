#!/bin/bash
# One machine as a Slurm cluster of two nodes, with accounting; all files below DIR, on loopback only. As root. Needs Debian's
# slurm-wlm, slurmdbd, munge and mariadb-server.
#   slurm.sh up DIR | down DIR | accounting-stop DIR | accounting-start DIR |
#     node-lost DIR NODE | node-back DIR NODE
set -euo pipefail
action=$1; mkdir -p "$2"; dir=$(cd "$2" && pwd); me=$(id -un); host=$(hostname -s)
export PATH=/usr/sbin:/sbin:$PATH
wait_for() { for _ in $(seq 150); do "$@" >/dev/null 2>&1 && return; sleep 0.2; done; echo "gave up: $*" >&2; exit 1; }
stop() {
  [ -f "$dir/run/$1.pid" ] || return 0
  local pid; pid=$(cat "$dir/run/$1.pid")
  kill "$pid" 2>/dev/null || true
  for _ in $(seq 100); do kill -0 "$pid" 2>/dev/null || break; sleep 0.2; done
  kill -9 "$pid" 2>/dev/null || true
  rm -f "$dir/run/$1.pid"
}
# a node is a PID namespace: if its slurmd is killed, the jobs on it are killed too, as if the machine had crashed
node() {
  unshare --pid --fork --kill-child --mount-proc slurmd -D -N "$1" </dev/null >/dev/null 2>&1 &
  echo $! > "$dir/run/node-$1.pid"
}
lose() {
  [ -f "$dir/run/node-$1.pid" ] || return 0
  kill -9 "$(cat "$dir/run/node-$1.pid")" 2>/dev/null || true
  rm -f "$dir/run/node-$1.pid"
}
accounting() { MYSQL_UNIX_PORT="$dir/run/mysql.socket" slurmdbd && wait_for sacctmgr -n list cluster; }

case $action in
  down)
    lose n1; lose n2
    for name in slurmctld slurmdbd mariadbd munged; do stop "$name"; done
    rm -f /etc/slurm/{slurm,gres,slurmdbd}.conf
    exit ;;
  accounting-stop) stop slurmdbd; exit ;;
  accounting-start) accounting; exit ;;
  node-lost) lose "$3"; exit ;;
  node-back) node "$3"; exit ;;
  up) ;;
  *) sed -n 2,5p "$0"; exit 2 ;;
esac

mkdir -p "$dir"/{run,log,state,spool-n1,spool-n2,mysql,gpu}
chmod 755 "$dir" "$dir/run"; chmod 700 "$dir/log" "$dir/state"
[ -f "$dir/munge.key" ] || { dd if=/dev/urandom of="$dir/munge.key" bs=128 count=1 status=none; chmod 600 "$dir/munge.key"; }
# stand-ins for four GPUs: Slurm counts them and tells each job which are its own; they have to be devices
for i in 0 1 2 3; do [ -c "$dir/gpu/nvidia$i" ] || mknod "$dir/gpu/nvidia$i" c 1 3; done

cat > "$dir/slurm.conf" <<CONF
ClusterName=local
SlurmctldHost=$host(127.0.0.1)
SlurmUser=$me
SlurmdUser=$me
AuthType=auth/munge
# a requeued job waits until its credential has expired, by default two minutes
AuthInfo=socket=$dir/run/munge.socket,cred_expire=10
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmctldPort=16817
SlurmctldPidFile=$dir/run/slurmctld.pid
SlurmdPidFile=$dir/run/slurmd-%n.pid
SlurmctldLogFile=$dir/log/slurmctld.log
SlurmdLogFile=$dir/log/slurmd-%n.log
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool-%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=sched_interval=2,bf_interval=2
# memory is watched and a job over its own is killed; without control groups that ends in FAILED, not OUT_OF_MEMORY
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=2
JobAcctGatherParams=OverMemoryKill,UsePss
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=16819
AccountingStoragePass=$dir/run/munge.socket
AccountingStorageEnforce=associations,limits
AccountingStoreFlags=job_comment
AccountingStorageTRES=gres/gpu
GresTypes=gpu,shard
SlurmdParameters=config_overrides
MpiDefault=none
ReturnToService=2
KillWait=5
# a node that does not answer for so long is down, and its jobs are requeued
SlurmdTimeout=10
# a request beyond the limit of a partition is refused, instead of waiting for ever
EnforcePartLimits=ALL
MinJobAge=300
MaxArraySize=1001
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=17001 CPUs=2 RealMemory=10000 Gres=gpu:2,shard:8 State=UNKNOWN
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=17002 CPUs=2 RealMemory=10000 Gres=gpu:2,shard:8 State=UNKNOWN
PartitionName=cpu Nodes=n1,n2 Default=YES MaxTime=12:00:00 State=UP
PartitionName=short Nodes=n1,n2 MaxTime=00:10:00 State=UP
PartitionName=gpu Nodes=n1,n2 MaxTime=1-00:00:00 State=UP
CONF
cat > "$dir/gres.conf" <<CONF
NodeName=n1 Name=gpu File=$dir/gpu/nvidia[0-1]
NodeName=n2 Name=gpu File=$dir/gpu/nvidia[2-3]
NodeName=n1,n2 Name=shard Count=8
CONF
cat > "$dir/slurmdbd.conf" <<CONF
AuthType=auth/munge
AuthInfo=socket=$dir/run/munge.socket
DbdHost=$host
DbdAddr=127.0.0.1
DbdPort=16819
CommunicationParameters=NoInAddrAny
SlurmUser=$me
PidFile=$dir/run/slurmdbd.pid
LogFile=$dir/log/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=$me
StorageLoc=slurm_acct
CONF
chmod 600 "$dir/slurmdbd.conf"
cat > "$dir/my.cnf" <<CONF
[client]
socket=$dir/run/mysql.socket
[mariadbd]
socket=$dir/run/mysql.socket
datadir=$dir/mysql
pid-file=$dir/run/mariadbd.pid
skip-networking
innodb-buffer-pool-size=64M
innodb-lock-wait-timeout=900
innodb-log-file-size=16M
CONF
# the executor takes SLURM_CONF away from the steps of a job: the files must be where Slurm looks by itself
unset SLURM_CONF
ln -sf "$dir/slurm.conf" "$dir/gres.conf" "$dir/slurmdbd.conf" /etc/slurm/

munged --key-file="$dir/munge.key" --socket="$dir/run/munge.socket" --pid-file="$dir/run/munged.pid" \
  --log-file="$dir/log/munged.log" --seed-file="$dir/state/munge.seed" --force
[ -d "$dir/mysql/mysql" ] || mariadb-install-db --no-defaults --datadir="$dir/mysql" --user="$me" \
  --auth-root-authentication-method=socket --auth-root-socket-user="$me" --skip-test-db >"$dir/log/mysql-install.log" 2>&1
mariadbd --defaults-file="$dir/my.cnf" --user="$me" >>"$dir/log/mariadbd.log" 2>&1 </dev/null &
wait_for mariadb --defaults-file="$dir/my.cnf" -e 'select 1'
mariadb --defaults-file="$dir/my.cnf" -e 'create database if not exists slurm_acct'
accounting
sacctmgr -i -Q add cluster local >/dev/null || true
slurmctld -i
wait_for scontrol ping
node n1
node n2
sacctmgr -i -Q add account research Cluster=local >/dev/null || true
sacctmgr -i -Q add user "$me" Account=research >/dev/null || true
sacctmgr -i -Q modify user "$me" set DefaultAccount=research >/dev/null || true
wait_for sh -c '[ "$(sinfo -h -p cpu -t idle -o %D)" = 2 ]'
sinfo
